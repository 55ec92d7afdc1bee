// GPT-2's printable alphabet for bytes.
#include "llm/tokenizer/byte_alphabet.h"

#include "llm/tokenizer/unicode.h"

#include <array>
#include <cstdint>

namespace sinter {
namespace {

constexpr uint32_t kAlphabetEnd = 0x100 + 68;

constexpr bool standsForItself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<uint16_t, 256> kCodePointOfByte = [] {
  std::array<uint16_t, 256> table{};
  uint16_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte)
    table[byte] = standsForItself(byte) ? static_cast<uint16_t>(byte) : next++;
  return table;
}();

// -1 for a code point that is not in the alphabet.
constexpr std::array<int16_t, kAlphabetEnd> kByteOfCodePoint = [] {
  std::array<int16_t, kAlphabetEnd> table{};
  table.fill(-1);
  for (int16_t byte = 0; byte < 256; ++byte)
    table[kCodePointOfByte[static_cast<size_t>(byte)]] = byte;
  return table;
}();

} // namespace

std::optional<std::string> bytesFromAlphabet(std::string_view text) {
  std::string bytes;
  for (size_t offset = 0; offset < text.size();) {
    Utf8Step step = decodeUtf8(text, offset);
    if (step.kind != Utf8Step::Kind::Character || step.codePoint >= kAlphabetEnd ||
        kByteOfCodePoint[step.codePoint] < 0)
      return std::nullopt;
    bytes += static_cast<char>(kByteOfCodePoint[step.codePoint]);
    offset += step.length;
  }
  return bytes;
}

std::string alphabetFromBytes(std::string_view bytes) {
  std::string text;
  for (char byte : bytes)
    appendUtf8(kCodePointOfByte[static_cast<uint8_t>(byte)], text);
  return text;
}

} // namespace sinter
