// UTF-8 and the properties of characters, as Python's str has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::jinja {

// Where `text` stops being UTF-8; its size where it never does.
size_t validUtf8Bytes(std::string_view text);

// For the following, texts are UTF-8 and `at` is the first byte of a character.
inline size_t characterBytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
uint32_t characterAt(std::string_view text, size_t at);
// The first byte of the character before `at`, which is not 0.
size_t previousCharacter(std::string_view text, size_t at);
size_t countCharacters(std::string_view text);
// The byte at which character `index` begins; the size where there are fewer.
size_t byteOfCharacter(std::string_view text, size_t index);
void appendCharacter(std::string &text, uint32_t character);

bool isSpaceCharacter(uint32_t character);
bool isLineBreak(uint32_t character); // of str.splitlines
bool isAlphaCharacter(uint32_t character);
bool isDigitCharacter(uint32_t character);
bool isUpperCharacter(uint32_t character);
bool isLowerCharacter(uint32_t character);
bool isPrintableCharacter(uint32_t character); // as repr() leaves it
// The text that a character becomes in another case, by the C library's tables.
std::string upperCase(uint32_t character);
std::string lowerCase(uint32_t character);
std::string titleCase(uint32_t character);

// Without the white space around it.
std::string_view stripped(std::string_view text);

} // namespace sinter::jinja
