// UTF-8 by its bits; overlong forms and surrogates never fit.
#include "grammar/utf8_reader.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

// Least code point of a form by the bytes after its first.
constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};

struct Lead {
  uint32_t code, after;
};

std::optional<Lead> leadOf(uint8_t byte) {
  if (byte < 0x80)
    return Lead{byte, 0};
  if (byte >= 0xC2 && byte <= 0xDF)
    return Lead{byte & 0x1Fu, 1};
  if ((byte & 0xF0) == 0xE0)
    return Lead{byte & 0x0Fu, 2};
  if (byte >= 0xF0 && byte <= 0xF4)
    return Lead{byte & 0x07u, 3};
  return std::nullopt;
}

} // namespace

CodeRange PartialCode::range() const {
  const uint32_t left = number_ & 3;
  const char32_t first = char32_t{code()} << 6 * left;
  return {first, first + (char32_t{1} << 6 * left) - 1};
}

std::optional<PartialCode> PartialCode::read(uint8_t byte, const CharacterSet &set) const {
  if (begun()) {
    if ((byte & 0xC0) != 0x80)
      return std::nullopt;
    if (isGeneral())
      return PartialCode(number_ - 1);
  }
  const std::optional<Lead> lead = begun() ? std::nullopt : leadOf(byte);
  if (!begun() && !lead)
    return std::nullopt;
  const uint32_t after = begun() ? number_ >> 2 & 3 : lead->after;
  const PartialCode next = begun() ? of(code() << 6 | (byte & 0x3Fu), (number_ & 3) - 1, after)
                                   : of(lead->code, after, after);
  const CodeRange range = next.range();
  if (range.last < kLeast[after] || !set.meets(std::max(range.first, kLeast[after]), range.last))
    return std::nullopt;
  return next;
}

PartialCode PartialCode::generalized(const CharacterSet &set) const {
  const CodeRange now = range();
  const bool covers = now.first >= kLeast[number_ >> 2 & 3] && set.covers(now.first, now.last);
  return covers && !isGeneral() ? PartialCode(kGeneral | (number_ & 3)) : *this;
}

} // namespace sinter::grammar
