// Linear maps over GF(2): arithmetic on bit matrices by Gaussian elimination on machine words.
#include "layout/linear_map.h"

#include "base/check.h"

#include <array>
#include <bit>
#include <cstdio>

namespace sinter::layout {
namespace {

// The span of some columns in echelon form: each row has its own highest bit, and knows which
// columns it is the sum of.
class Echelon {
public:
  explicit Echelon(const LinearMap &map) {
    for (uint32_t i = 0; i < map.inBits(); ++i)
      insert(map.column(i), uint64_t(1) << i);
  }

  uint32_t rank() const { return rank_; }
  const std::vector<uint64_t> &dependencies() const { return dependencies_; }

  // The columns that sum to `y`, or nothing.
  std::optional<uint64_t> solve(uint64_t y) const {
    uint64_t sum = 0;
    reduce(y, sum);
    return y == 0 ? std::optional<uint64_t>(sum) : std::nullopt;
  }

private:
  // Clears every bit of `v` that has a row; `sum` follows with the columns used.
  void reduce(uint64_t &v, uint64_t &sum) const {
    for (uint64_t left = v; left != 0;) {
      uint32_t top = 63 - std::countl_zero(left);
      if (rows_[top] != 0) {
        v ^= rows_[top];
        sum ^= sums_[top];
      }
      left = v & ((uint64_t(1) << top) - 1);
    }
  }

  void insert(uint64_t v, uint64_t sum) {
    reduce(v, sum);
    if (v == 0) {
      dependencies_.push_back(sum);
      return;
    }
    uint32_t top = 63 - std::countl_zero(v);
    rows_[top] = v;
    sums_[top] = sum;
    ++rank_;
  }

  std::array<uint64_t, 64> rows_{}, sums_{};
  std::vector<uint64_t> dependencies_;
  uint32_t rank_ = 0;
};

} // namespace

Result<LinearMap> LinearMap::fromColumns(std::vector<uint64_t> columns, uint32_t outBits) {
  if (columns.size() > kMaxBits || outBits > kMaxBits)
    return fail(Code::InvalidArgument, "a linear map from " + std::to_string(columns.size()) +
                                           " to " + std::to_string(outBits) +
                                           " bits, expected at most " + std::to_string(kMaxBits));
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i] >> outBits != 0)
      return fail(Code::InvalidArgument, "column " + std::to_string(i) +
                                             " of a linear map has bits above its " +
                                             std::to_string(outBits) + " output bits");
  return LinearMap(std::move(columns), outBits);
}

LinearMap LinearMap::identity(uint32_t bits) {
  SINTER_CHECK(bits <= kMaxBits);
  std::vector<uint64_t> columns(bits);
  for (uint32_t i = 0; i < bits; ++i)
    columns[i] = uint64_t(1) << i;
  return LinearMap(std::move(columns), bits);
}

LinearMap LinearMap::zero(uint32_t inBits, uint32_t outBits) {
  SINTER_CHECK(inBits <= kMaxBits && outBits <= kMaxBits);
  return LinearMap(std::vector<uint64_t>(inBits), outBits);
}

uint64_t LinearMap::apply(uint64_t x) const {
  SINTER_CHECK(x >> inBits() == 0);
  uint64_t y = 0;
  for (; x != 0; x &= x - 1)
    y ^= columns_[std::countr_zero(x)];
  return y;
}

LinearMap LinearMap::after(const LinearMap &inner) const {
  SINTER_CHECK(inner.outBits() == inBits());
  std::vector<uint64_t> columns;
  columns.reserve(inner.inBits());
  for (uint64_t column : inner.columns_)
    columns.push_back(apply(column));
  return LinearMap(std::move(columns), outBits_);
}

Result<LinearMap> LinearMap::above(const LinearMap &low) const {
  if (inBits() + low.inBits() > kMaxBits || outBits() + low.outBits() > kMaxBits)
    return fail(Code::Exhausted, "a product of linear maps from " +
                                     std::to_string(inBits() + low.inBits()) + " to " +
                                     std::to_string(outBits() + low.outBits()) +
                                     " bits, expected at most " + std::to_string(kMaxBits));
  std::vector<uint64_t> columns = low.columns_;
  for (uint64_t column : columns_)
    columns.push_back(column << low.outBits());
  return LinearMap(std::move(columns), outBits() + low.outBits());
}

uint32_t LinearMap::rank() const {
  return Echelon(*this).rank();
}

std::optional<uint64_t> LinearMap::preimage(uint64_t y) const {
  return Echelon(*this).solve(y);
}

std::optional<LinearMap> LinearMap::rightInverse() const {
  Echelon echelon(*this);
  if (echelon.rank() != outBits())
    return std::nullopt;
  std::vector<uint64_t> columns;
  for (uint32_t i = 0; i < outBits(); ++i)
    columns.push_back(*echelon.solve(uint64_t(1) << i));
  return LinearMap(std::move(columns), inBits());
}

std::vector<uint64_t> LinearMap::kernel() const {
  return Echelon(*this).dependencies();
}

std::optional<LinearMap> LinearMap::quotient(const LinearMap &low) const {
  if (low.inBits() > inBits() || low.outBits() > outBits())
    return std::nullopt;
  uint64_t lowMask = (uint64_t(1) << low.outBits()) - 1;
  std::vector<uint64_t> columns;
  for (uint32_t i = 0; i < inBits(); ++i) {
    uint64_t expected = i < low.inBits() ? low.column(i) : columns_[i] & ~lowMask;
    if (columns_[i] != expected)
      return std::nullopt;
    if (i >= low.inBits())
      columns.push_back(columns_[i] >> low.outBits());
  }
  return LinearMap(std::move(columns), outBits() - low.outBits());
}

std::string LinearMap::toString() const {
  std::string text = "[";
  for (uint64_t column : columns_) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%llx ", static_cast<unsigned long long>(column));
    text += digits;
  }
  return text + "| " + std::to_string(outBits_) + " bits]";
}

} // namespace sinter::layout
