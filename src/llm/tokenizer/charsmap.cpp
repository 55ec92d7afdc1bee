// SentencePiece's compiled normalization rules.
#include "llm/tokenizer/charsmap.h"

#include "llm/tokenizer/unicode.h"

namespace sinter {
namespace {

constexpr uint32_t kIsValue = uint32_t{1} << 31;

// The longest text that is looked for. SentencePiece's own rules have less than 40 bytes; a trie
// with a cycle would otherwise take quadratic time.
constexpr size_t kLongestKey = 128;

uint32_t readU32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  return value;
}

uint32_t offsetOf(uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200) >> 6);
}

} // namespace

Result<Charsmap> Charsmap::create(std::string_view bytes) {
  Charsmap made;
  if (bytes.empty())
    return made;
  auto corrupt = [](const std::string &what) {
    return fail(Code::Corrupt, "normalization rules (precompiled_charsmap) " + what);
  };
  if (bytes.size() < 4)
    return corrupt("have " + std::to_string(bytes.size()) + " bytes, expected at least 4");
  const uint64_t trieBytes = readU32(bytes, 0);
  if (trieBytes == 0 || trieBytes % 4 != 0 || trieBytes + 4 >= bytes.size())
    return corrupt("have a trie of " + std::to_string(trieBytes) + " bytes in " +
                   std::to_string(bytes.size()) +
                   ", expected a multiple of 4 and replacements after it");
  if (bytes.back() != '\0')
    return corrupt("are cut: the last replacement has no end");
  made.replacements_ = bytes.substr(4 + trieBytes);
  for (size_t at = 4; at < 4 + trieBytes; at += 4) {
    const uint32_t unit = readU32(bytes, at);
    if ((unit & kIsValue) && (unit & ~kIsValue) >= made.replacements_.size())
      return corrupt("name the replacement at byte " + std::to_string(unit & ~kIsValue) + " of " +
                     std::to_string(made.replacements_.size()));
    made.units_.push_back(unit);
  }
  return made;
}

Charsmap::Match Charsmap::longestMatch(std::string_view text) const {
  Match best;
  uint64_t node = offsetOf(units_[0]);
  for (size_t i = 0; i < text.size() && i < kLongestKey; ++i) {
    const auto label = static_cast<uint8_t>(text[i]);
    node ^= label;
    // A zero ends keys; a value has no label.
    if (label == 0 || node >= units_.size() || (units_[node] & (kIsValue | 0xFF)) != label)
      break;
    const uint32_t unit = units_[node];
    node ^= offsetOf(unit);
    if ((unit & 0x100) && node < units_.size() && (units_[node] & kIsValue))
      best = {i + 1, std::string_view(replacements_.data() + (units_[node] & ~kIsValue))};
  }
  return best;
}

Result<std::string> Charsmap::apply(std::string_view text, size_t mostBytes) const {
  if (units_.empty())
    return std::string(text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Match match = longestMatch(text.substr(at));
    const size_t length = match.length ? match.length : decodeUtf8(text, at).length;
    out += match.length ? match.replacement : text.substr(at, length);
    if (out.size() > mostBytes)
      return fail(Code::Exhausted, "the tokenizer's normalization makes more than " +
                                       std::to_string(mostBytes) + " bytes of a prompt");
    at += length;
  }
  // A rule of a hostile file may cut a character in two.
  if (validUtf8Prefix(out) == out.size())
    return out;
  std::string repaired;
  appendRepairedUtf8(out, repaired);
  return repaired;
}

} // namespace sinter
