// How many prefill tokens fit between two decode steps.
#pragma once

#include <cstdint>

namespace sinter {

// Bounds a prefill step's time by that of a decode step, as both were measured last: whoever reads
// an answer waits about (1 + ratio) decode steps for a token at most, on any model and device.
class PrefillBudget {
public:
  // `ratio` in decode steps; 0: always `most`. `least` is at least 1.
  PrefillBudget(uint32_t least, uint32_t most, double ratio);

  // From `least` to `most`; `most` until a step of each phase was measured.
  uint32_t tokens() const;

  void addPrefill(uint32_t tokens, double seconds);
  void addDecode(double seconds);

private:
  uint32_t least_, most_;
  double ratio_;
  double tokenSeconds_ = 0, decodeSeconds_ = 0; // moving averages; 0: none yet
};

} // namespace sinter
