// The fixed order in which a register block is reduced; generated code does exactly this.
#pragma once

#include <bit>
#include <cstddef>
#include <span>

namespace sinter::tile {

/// Combines the lanes (at least one) into the first and returns it; the others are left changed.
/// With p the largest power of two not above n: first the tail folds onto the front,
/// x[i] = combine(x[i], x[p + i]) for i < n - p; then halves fold, h = p / 2, p / 4, ..., 1:
/// x[i] = combine(x[i], x[h + i]) for i < h. For n = 6: ((x0 + x4) + x2) + ((x1 + x5) + x3).
template <typename T, typename Combine>
constexpr T treeReduce(std::span<T> lanes, Combine combine) {
  std::size_t power = std::bit_floor(lanes.size());
  for (std::size_t i = 0; power + i < lanes.size(); ++i)
    lanes[i] = combine(lanes[i], lanes[power + i]);
  for (std::size_t half = power / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i)
      lanes[i] = combine(lanes[i], lanes[half + i]);
  return lanes[0];
}

} // namespace sinter::tile
