// The oldest prompt's half, then the shortest rests.
#include "llm/prefill_shares.h"

#include <algorithm>
#include <numeric>

namespace sinter {

std::span<const uint32_t> PrefillShares::share(std::span<const uint32_t> left, uint32_t budget) {
  shares_.assign(left.size(), 0);
  if (left.empty())
    return shares_;
  const auto give = [&](uint32_t i, uint32_t most) {
    const uint32_t rows = std::min({left[i] - shares_[i], most, budget});
    shares_[i] += rows;
    budget -= rows;
  };
  give(0, budget - budget / 2);
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
