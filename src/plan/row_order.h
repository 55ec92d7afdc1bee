// The order of rows in a packing recipe (RowSegment in plan.h): its limits, its size and a walk.
#pragma once

#include "base/checked.h"
#include "plan/plan.h"

#include <span>

namespace sinter::plan {

// Bytes of one source row of an interleaving.
inline uint64_t rowBytes(const PackRecipe &recipe) {
  return uint64_t(recipe.blocksPerRow) * recipe.blockBytes;
}

// The rows of all segments together. Invalid on overflow, never for a validated order.
CheckedSize orderedRows(std::span<const RowSegment> order);

// The number of segments, modes and values of digits; and that, of n rows in all, none comes from
// beyond source row n - 1. What begins the message is `what`. Corrupt. Constant time: whether a row
// is taken twice is left to checkPermutation().
Result<void> validateRowOrder(std::span<const RowSegment> order, const std::string &what);

// Whether a validated, non-empty order takes each of `rows` source rows exactly once;
// InvalidArgument if not. Takes `rows` steps and bits of memory, if the order has as many rows.
Result<void> checkPermutation(std::span<const RowSegment> order, uint64_t rows);

// Gives the source rows of a validated order one by one. The order must outlive it.
class RowWalker {
public:
  explicit RowWalker(std::span<const RowSegment> order);

  // The next source row; at most orderedRows() times.
  uint64_t next();

private:
  std::span<const RowSegment> order_; // what is left; first the segment at hand
  std::array<uint32_t, kMaxRowModes> digits_{};
  uint64_t row_ = 0; // the next one
};

} // namespace sinter::plan
