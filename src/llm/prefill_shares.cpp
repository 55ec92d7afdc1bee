// The oldest prompt's half, then the shortest rests.
#include "llm/prefill_shares.h"

#include <algorithm>
#include <numeric>

namespace sinter {

std::span<const uint32_t> PrefillShares::share(std::span<const uint32_t> left, uint32_t budget,
                                               uint32_t chunk) {
  shares_.assign(left.size(), 0);
  if (left.empty())
    return shares_;
  const auto give = [&](uint32_t i, uint32_t most) {
    uint32_t rows = std::min(left[i] - shares_[i], std::min(most, budget));
    if (shares_[i] + rows < left[i])
      rows -= rows % chunk;
    shares_[i] += rows;
    budget -= rows;
  };
  give(0, std::max(budget - budget / 2, chunk));
  order_.resize(left.size() - 1);
  std::iota(order_.begin(), order_.end(), 1u);
  std::sort(order_.begin(), order_.end(),
            [&](uint32_t a, uint32_t b) { return left[a] != left[b] ? left[a] < left[b] : a < b; });
  for (const uint32_t i : order_)
    give(i, budget);
  give(0, budget);
  return shares_;
}

} // namespace sinter
