// Checked size arithmetic for every size that comes from input: overflow makes the value invalid and stays so.
#pragma once

#include <cstdint>
#include <optional>

namespace sinter {

// An unsigned 64-bit size that remembers whether any step overflowed. Cheap to copy; read it with value().
class CheckedSize {
public:
  constexpr CheckedSize(uint64_t value) : value_(value) {}

  constexpr std::optional<uint64_t> value() const {
    return valid_ ? std::optional<uint64_t>(value_) : std::nullopt;
  }
  constexpr bool valid() const { return valid_; }

  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) {
    CheckedSize r(0);
    r.valid_ = !__builtin_add_overflow(a.value_, b.value_, &r.value_) && a.valid_ && b.valid_;
    return r;
  }
  friend constexpr CheckedSize operator-(CheckedSize a, CheckedSize b) {
    CheckedSize r(0);
    r.valid_ = !__builtin_sub_overflow(a.value_, b.value_, &r.value_) && a.valid_ && b.valid_;
    return r;
  }
  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) {
    CheckedSize r(0);
    r.valid_ = !__builtin_mul_overflow(a.value_, b.value_, &r.value_) && a.valid_ && b.valid_;
    return r;
  }
  // Ceiling division; a zero divisor is invalid.
  friend constexpr CheckedSize ceilDiv(CheckedSize a, uint64_t b) {
    CheckedSize r(b ? a.value_ / b + (a.value_ % b != 0) : 0);
    r.valid_ = a.valid_ && b != 0;
    return r;
  }
  // Rounds up to a multiple of `alignment`, which must not be zero.
  friend constexpr CheckedSize alignUp(CheckedSize a, uint64_t alignment) {
    return ceilDiv(a, alignment) * CheckedSize(alignment);
  }

private:
  uint64_t value_;
  bool valid_ = true;
};

} // namespace sinter
