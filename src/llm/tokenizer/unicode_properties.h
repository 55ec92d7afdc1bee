// What Unicode says of a character, and its normalization forms (by utf8proc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sinter {

bool isWhiteSpace(uint32_t codePoint);     // the property White_Space
bool isControlOrOther(uint32_t codePoint); // Cc, Cf, Cs or Co: controls, formats, private use
bool isPunctuation(uint32_t codePoint);    // general category P
bool isNonspacingMark(uint32_t codePoint); // general category Mn
bool isMark(uint32_t codePoint);           // general category M
bool isNumber(uint32_t codePoint);         // general category N
bool isDecimalDigit(uint32_t codePoint);   // general category Nd
bool isWordCharacter(uint32_t codePoint);   // categories L, M, Nd, Nl and Pc
bool isCjkIdeograph(uint32_t codePoint);   // the blocks that BERT takes for Chinese characters

// Appends the lower case of one character; that of U+0130 has two.
void appendLowercase(uint32_t codePoint, std::string &out);

enum class NormalForm : uint8_t { Nfc, Nfd, Nfkc, Nfkd };

// `text` must be valid UTF-8. Takes n log n steps at most.
std::string normalized(std::string_view text, NormalForm form);

} // namespace sinter
