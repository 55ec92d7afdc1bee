// What trials take, as far as it is known before they are made.
#pragma once

#include "cli/tune/trial_bench.h"

#include <cstddef>

namespace sinter::cli {

// What the compiler takes for a kernel where nothing was compiled yet: 0.23 s on two cores for
// SmolLM2 in Q4_1, 0.24 s for a model of two narrow layers in Q8_0.
inline constexpr double kUsualKernelSeconds = 0.25;

struct TrialCosts {
  double kernelSeconds = kUsualKernelSeconds; // to compile one
  double loadSeconds = 0;                     // to load a plan with its weights
  double stepSeconds = 0;                     // of a step of each size

  // To time the step and `variants` of it, plan loaded.
  double timing(size_t variants, const TrialEffort &effort) const;
  // With `kernels` compiled before.
  double trial(size_t kernels, size_t variants, const TrialEffort &effort) const {
    return static_cast<double>(kernels) * kernelSeconds + timing(variants, effort);
  }
};

} // namespace sinter::cli
