// Strict UTF-8 decoding and repair.
#include "llm/tokenizer/unicode.h"

#include "base/check.h"

namespace sinter {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// A lead byte's sequence length and the range of its second byte; length 0 for a byte that leads
// none.
struct Lead {
  uint8_t length;
  uint8_t secondLow = 0x80;
  uint8_t secondHigh = 0xBF;
};

Lead leadOf(uint8_t byte) {
  if (byte < 0x80)
    return {1};
  if (byte < 0xC2 || byte > 0xF4)
    return {0};
  if (byte < 0xE0)
    return {2};
  if (byte < 0xF0)
    return {3, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  return {4, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
          static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
}

} // namespace

Utf8Step decodeUtf8(std::string_view text, size_t offset) {
  SINTER_CHECK(offset < text.size());
  auto first = static_cast<uint8_t>(text[offset]);
  Lead lead = leadOf(first);
  if (lead.length == 0)
    return {Utf8Step::Kind::Invalid, 1, 0};
  if (lead.length == 1)
    return {Utf8Step::Kind::Character, 1, first};
  uint32_t codePoint = first & (0x7Fu >> lead.length);
  for (uint8_t i = 1; i < lead.length; ++i) {
    if (offset + i >= text.size())
      return {Utf8Step::Kind::Incomplete, i, 0};
    auto next = static_cast<uint8_t>(text[offset + i]);
    uint8_t low = i == 1 ? lead.secondLow : 0x80;
    uint8_t high = i == 1 ? lead.secondHigh : 0xBF;
    if (next < low || next > high)
      return {Utf8Step::Kind::Invalid, 1, 0};
    codePoint = codePoint << 6 | (next & 0x3Fu);
  }
  return {Utf8Step::Kind::Character, lead.length, codePoint};
}

size_t validUtf8Prefix(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    Utf8Step step = decodeUtf8(text, offset);
    if (step.kind != Utf8Step::Kind::Character)
      break;
    offset += step.length;
  }
  return offset;
}

void appendUtf8(uint32_t codePoint, std::string &out) {
  SINTER_CHECK(codePoint < 0xD800 || (codePoint > 0xDFFF && codePoint <= 0x10FFFF));
  auto tail = [&](int shift) { out += static_cast<char>(0x80 | (codePoint >> shift & 0x3F)); };
  if (codePoint < 0x80) {
    out += static_cast<char>(codePoint);
  } else if (codePoint < 0x800) {
    out += static_cast<char>(0xC0 | codePoint >> 6);
    tail(0);
  } else if (codePoint < 0x10000) {
    out += static_cast<char>(0xE0 | codePoint >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | codePoint >> 18);
    tail(12), tail(6), tail(0);
  }
}

size_t appendRepairedUtf8(std::string_view text, std::string &out) {
  size_t replaced = 0;
  while (true) {
    size_t valid = validUtf8Prefix(text);
    out += text.substr(0, valid);
    if (valid == text.size())
      return replaced;
    out += kReplacement;
    ++replaced;
    text.remove_prefix(valid + 1);
  }
}

} // namespace sinter
