// GPT-2's printable alphabet: byte-level vocabularies spell each byte as one visible character.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sinter {

// The bytes that `text` spells, or nothing where a character is outside the alphabet or the text is
// not UTF-8. The bytes 21-7E, A1-AC and AE-FF stand for themselves as code points; the other 68, in
// ascending order, are U+0100 onwards (Radford et al. 2019, bytes_to_unicode in the GPT-2 code).
std::optional<std::string> bytesFromAlphabet(std::string_view text);

// The opposite direction: the spelling of arbitrary bytes.
std::string alphabetFromBytes(std::string_view bytes);

} // namespace sinter
