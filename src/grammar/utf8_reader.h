// A code point that is read byte by byte, as one number.
#pragma once

#include "grammar/grammar.h"

namespace sinter::grammar {

// What was read of a code point; 0: nothing.
class PartialCode {
public:
  PartialCode() = default;
  explicit PartialCode(uint32_t number) : number_(number) {}
  uint32_t number() const { return number_; }
  bool begun() const { return number_ != 0; }

  // After one more byte, if some code point of `set` still fits. The set is always the same.
  std::optional<PartialCode> read(uint8_t byte, const CharacterSet &set) const;
  char32_t code() const { return number_ >> 4; } // of a whole one
  // The same where all that can follow is in `set`: what was read makes no difference any more.
  PartialCode generalized(const CharacterSet &set) const;
  // Nothing is left of it.
  bool isWhole() const { return (number_ & 3) == 0; }

private:
  static constexpr uint32_t kGeneral = uint32_t{1} << 31;
  bool isGeneral() const { return (number_ & kGeneral) != 0; }
  static PartialCode of(uint32_t code, uint32_t left, uint32_t length) {
    return PartialCode(code << 4 | length << 2 | left);
  }

  // Code points that may come of it, as UTF-8 allows them or not.
  CodeRange range() const;

  uint32_t number_ = 0; // code bits, bytes after the first (2 bits), bytes left (2 bits)
};

} // namespace sinter::grammar
