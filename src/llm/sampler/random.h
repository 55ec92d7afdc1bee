// Random numbers for choosing tokens: a function of seed and position alone, the same on every
// machine, so that a sequence draws the same whatever runs beside it.
#pragma once

#include <array>
#include <cstdint>

namespace sinter {

// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

class SamplerRandom {
public:
  explicit SamplerRandom(uint64_t seed) : seed_(seed) {}

  // Two independent numbers, uniform over the multiples of 2^-53 in [0, 1). Each token takes one
  // call, whatever steps are on.
  std::array<double, 2> next();
  // What the call after `calls` others will give.
  std::array<double, 2> peek(uint64_t calls) const;

private:
  uint64_t seed_;
  uint64_t position_ = 0;
};

} // namespace sinter
