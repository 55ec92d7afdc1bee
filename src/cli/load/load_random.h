// Random numbers of a workload: a function of the seed, a purpose and a number alone, so that the
// same seed makes the same requests at the same times, in whatever order they are made.
#pragma once

#include "llm/sampler/random.h"

namespace sinter::cli {

enum class LoadPurpose : uint32_t { Arrivals, Lengths, SharedPrefix, Prompt };

class LoadRandom {
public:
  // `number`: of the request, where the purpose has several.
  LoadRandom(uint64_t seed, LoadPurpose purpose, uint64_t number = 0);

  double uniform(); // in (0, 1]
  uint32_t below(uint32_t bound);
  double normal();                          // mean 0, deviation 1
  double gamma(double shape);               // of scale 1
  double exponential() { return gamma(1); } // of mean 1

private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
};

} // namespace sinter::cli
