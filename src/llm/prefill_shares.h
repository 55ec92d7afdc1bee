// How prompts that are computed side by side share the rows of a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

class PrefillShares {
public:
  // Shares `budget` rows out among prompts of which `left` rows are left, the oldest first; share i
  // is at most left[i], and all are valid until the next call. The oldest has half of the budget
  // for certain, so each prompt becomes the oldest and ends, whatever comes after it. The other
  // half goes to whom least is left of, so that a short prompt does not wait for the long ones
  // before it; what they leave is the oldest's again.
  std::span<const uint32_t> share(std::span<const uint32_t> left, uint32_t budget);

private:
  std::vector<uint32_t> shares_, order_;
};

} // namespace sinter
