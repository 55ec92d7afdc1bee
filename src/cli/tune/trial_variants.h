// Which kernels have which schedules in the variants of a trial plan.
#pragma once

#include "plan/plan.h"

#include <map>
#include <vector>

namespace sinter::cli {

// Schedules by content: what one variant of a step is to have. Other kernels have the rules'.
using Assignment = std::map<std::string, plan::ScheduleChoice>;

// A plan whose procedures after the step are these variants of it.
struct TrialVariants {
  plan::Plan plan;
  std::vector<Assignment> variants;
  bool whole = false; // whether they are all that were asked for
};

// `trials` is a plan of a step and variants of it, procedure after procedure. The result has its
// launches in the order that `variants` asks for, so that nothing is compiled. Kernels whose
// schedules are not all in `trials` are left out, since they could not be compared.
TrialVariants rearranged(const plan::Plan &trials, const std::vector<Assignment> &variants);

} // namespace sinter::cli
