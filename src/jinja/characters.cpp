// UTF-8 by hand; properties and cases from the C library's locale C.UTF-8, which each glibc has.
#include "jinja/characters.h"

#include <clocale>
#include <cwctype>
#include <locale.h>

namespace sinter::jinja {
namespace {

// Null where the system lacks the locale: only ASCII has cases then.
locale_t unicode() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

bool isAscii(uint32_t character) {
  return character < 0x80;
}
bool isBetween(uint32_t character, uint32_t first, uint32_t last) {
  return character >= first && character <= last;
}

// Bytes of the character that begins at `at`, or 0 where it is none.
size_t validCharacterBytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80)
    return 1;
  const size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || at + bytes > text.size())
    return 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  const bool isBad = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
                     (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f);
  return isBad ? 0 : bytes;
}

std::string textOf(uint32_t character) {
  std::string text;
  appendCharacter(text, character);
  return text;
}

} // namespace

size_t validUtf8Bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t bytes = validCharacterBytes(text, at);
    if (bytes == 0)
      return at;
    at += bytes;
  }
  return at;
}

uint32_t characterAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[at + i]));
  };
  switch (characterBytes(text[at])) {
  case 1:
    return byte(0);
  case 2:
    return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
  case 3:
    return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  default:
    return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 |
           (byte(3) & 0x3f);
  }
}

size_t previousCharacter(std::string_view text, size_t at) {
  do
    --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  return at;
}

size_t countCharacters(std::string_view text) {
  size_t count = 0;
  for (const char byte : text)
    count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  return count;
}

size_t byteOfCharacter(std::string_view text, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index)
    at += characterBytes(text[at]);
  return at;
}

void appendCharacter(std::string &text, uint32_t character) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80)
    return put(character);
  if (character < 0x800) {
    put(0xc0 | character >> 6);
  } else if (character < 0x10000) {
    put(0xe0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3f));
  } else {
    put(0xf0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3f));
    put(0x80 | (character >> 6 & 0x3f));
  }
  put(0x80 | (character & 0x3f));
}

bool isSpaceCharacter(uint32_t character) {
  return isBetween(character, 0x09, 0x0d) || isBetween(character, 0x1c, 0x20) ||
         character == 0x85 || character == 0xa0 || character == 0x1680 ||
         isBetween(character, 0x2000, 0x200a) || character == 0x2028 || character == 0x2029 ||
         character == 0x202f || character == 0x205f || character == 0x3000;
}
bool isLineBreak(uint32_t character) {
  return isBetween(character, 0x0a, 0x0d) || isBetween(character, 0x1c, 0x1e) ||
         character == 0x85 || character == 0x2028 || character == 0x2029;
}
bool isDigitCharacter(uint32_t character) {
  return isBetween(character, '0', '9');
}
bool isUpperCharacter(uint32_t character) {
  return isAscii(character) ? isBetween(character, 'A', 'Z')
                            : unicode() && iswupper_l(character, unicode());
}
bool isLowerCharacter(uint32_t character) {
  return isAscii(character) ? isBetween(character, 'a', 'z')
                            : unicode() && iswlower_l(character, unicode());
}
bool isAlphaCharacter(uint32_t character) {
  return isAscii(character) ? isUpperCharacter(character) || isLowerCharacter(character)
                            : !unicode() || iswalpha_l(character, unicode());
}
bool isPrintableCharacter(uint32_t character) {
  if (isAscii(character))
    return isBetween(character, 0x20, 0x7e);
  return !isSpaceCharacter(character) && unicode() && iswprint_l(character, unicode());
}

std::string upperCase(uint32_t character) {
  constexpr uint32_t kSharpS = 0xdf;
  if (character == kSharpS)
    return "SS";
  if (isAscii(character))
    return textOf(isLowerCharacter(character) ? character - 0x20 : character);
  return textOf(unicode() ? towupper_l(character, unicode()) : character);
}
std::string lowerCase(uint32_t character) {
  if (isAscii(character))
    return textOf(isUpperCharacter(character) ? character + 0x20 : character);
  return textOf(unicode() ? towlower_l(character, unicode()) : character);
}
std::string titleCase(uint32_t character) {
  constexpr uint32_t kSharpS = 0xdf;
  return character == kSharpS ? "Ss" : upperCase(character);
}

std::string_view stripped(std::string_view text) {
  size_t begin = 0, end = text.size();
  while (begin < end && isSpaceCharacter(characterAt(text, begin)))
    begin += characterBytes(text[begin]);
  while (end > begin) {
    const size_t last = previousCharacter(text, end);
    if (!isSpaceCharacter(characterAt(text, last)))
      break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

} // namespace sinter::jinja
