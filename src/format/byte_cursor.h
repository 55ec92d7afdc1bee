// Reads little-endian bytes from front to back; every step is checked against what is left.
#pragma once

#include "base/status.h"

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace sinter {

// A name from hostile input for a message: in single quotes, at most 64 bytes of it, bytes that are
// not printable ASCII as \xNN.
std::string quoted(std::string_view name);

// Does not own the bytes, which must outlive everything taken from it.
class ByteCursor {
public:
  explicit ByteCursor(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }

  // The next `count` bytes, in place. Truncated at the current offset where fewer are left; `what`
  // names the thing read.
  Result<std::span<const uint8_t>> take(uint64_t count, std::string_view what) {
    if (count > remaining())
      return truncated(count, what);
    auto taken = bytes_.subspan(offset_, count);
    offset_ += count;
    return taken;
  }

  // The next number. Truncated as above.
  template <typename T> Result<T> number(std::string_view what) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    SINTER_ASSIGN(auto raw, take(sizeof(T), what));
    static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

private:
  Fail truncated(uint64_t count, std::string_view what) const;

  std::span<const uint8_t> bytes_;
  uint64_t offset_ = 0;
};

} // namespace sinter
