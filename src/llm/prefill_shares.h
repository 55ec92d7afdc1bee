// How the prompts in prefill share the tokens of a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

class PrefillShares {
public:
  // Divides `budget` tokens among prompts that have `left` tokens left, the oldest prompt first.
  // Share i is at most left[i], and a multiple of `chunk` where it is less; `budget` is at least
  // `chunk`. The shares are valid until the next call. The oldest prompt always gets half of the
  // budget, or a chunk, so each prompt ends, whatever comes after it. The other half goes to the
  // prompts with the fewest tokens left, so a short prompt does not wait for long ones before it.
  // The oldest prompt gets what they do not use.
  std::span<const uint32_t> share(std::span<const uint32_t> left, uint32_t budget,
                                  uint32_t chunk = 1);

private:
  std::vector<uint32_t> shares_, order_;
};

} // namespace sinter
