// Maps between bit vectors that are linear over GF(2): what permuting, copying and XOR-ing index
// bits can do.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::layout {

// A GF(2)-linear map from inBits() to outBits() bits, held as a bit matrix: column i is the image
// of input bit i, bit 0 being the least significant. Immutable, cheap to copy. map(0) == 0 and
// map(x ^ y) == map(x) ^ map(y) always hold.
class LinearMap {
public:
  static constexpr uint32_t kMaxBits =
      62; // of either side, so that 1 << bits and sums never overflow

  LinearMap() = default; // from no bits to no bits

  // Fails with InvalidArgument on more than kMaxBits bits or a column with a bit at or above
  // `outBits`.
  static Result<LinearMap> fromColumns(std::vector<uint64_t> columns, uint32_t outBits);
  static LinearMap identity(uint32_t bits);
  static LinearMap zero(uint32_t inBits, uint32_t outBits);

  uint32_t inBits() const { return static_cast<uint32_t>(columns_.size()); }
  uint32_t outBits() const { return outBits_; }
  uint64_t column(uint32_t bit) const { return columns_[bit]; }
  std::span<const uint64_t> columns() const { return columns_; }

  // `x` must be below 2^inBits().
  uint64_t apply(uint64_t x) const;
  // x -> (*this)(inner(x)). inner.outBits() must equal inBits().
  LinearMap after(const LinearMap &inner) const;
  // Both side by side: `low` on the low bits of input and output, *this on the bits above.
  // Fails with Exhausted beyond kMaxBits.
  Result<LinearMap> above(const LinearMap &low) const;

  uint32_t rank() const;
  bool isInjective() const { return rank() == inBits(); }
  bool isSurjective() const { return rank() == outBits(); }
  bool isInvertible() const { return isInjective() && isSurjective(); }

  // The x with apply(x) == y whose bits at dependent columns (those that earlier columns span) are
  // zero; nothing when y is outside the image.
  std::optional<uint64_t> preimage(uint64_t y) const;
  // A map r with apply(r(y)) == y for every y, by preimage(); nothing unless surjective. The
  // inverse, if invertible.
  std::optional<LinearMap> rightInverse() const;
  // A basis of the inputs that map to zero: which input bits are redundant copies.
  std::vector<uint64_t> kernel() const;
  // The q with *this == q.above(low); nothing where *this does not split so.
  std::optional<LinearMap> quotient(const LinearMap &low) const;

  // Columns in hexadecimal, first input bit first: "[1 2 4 | 3 bits]".
  std::string toString() const;
  bool operator==(const LinearMap &) const = default;

private:
  LinearMap(std::vector<uint64_t> columns, uint32_t outBits)
      : columns_(std::move(columns)), outBits_(outBits) {}

  std::vector<uint64_t> columns_;
  uint32_t outBits_ = 0;
};

} // namespace sinter::layout
