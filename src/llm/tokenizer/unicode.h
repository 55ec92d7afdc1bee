// Strict UTF-8 decoding and repair, for prompts that come in and generated text that goes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter {

// What stands at one position of a byte string, by the Unicode standard's table 3-7: no surrogates,
// no overlong forms, nothing above U+10FFFF.
struct Utf8Step {
  enum class Kind : uint8_t {
    Character,  // `length` bytes encode `codePoint`
    Invalid,    // the byte can start no character, whatever follows; length is 1
    Incomplete, // the text ends inside a character; length is what there is of it
  };
  Kind kind;
  uint8_t length;
  uint32_t codePoint;
};

// Decodes at `offset`, which must lie inside `text`.
Utf8Step decodeUtf8(std::string_view text, size_t offset);

// The length of the longest prefix that is valid UTF-8.
size_t validUtf8Prefix(std::string_view text);

// Appends the UTF-8 of a code point, which must be a Unicode scalar value.
void appendUtf8(uint32_t codePoint, std::string &out);

// Appends `text` with every byte that belongs to no character replaced by U+FFFD. Returns how many
// bytes were replaced.
size_t appendRepairedUtf8(std::string_view text, std::string &out);

} // namespace sinter
