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

// `trials` is a plan of a step and variants of it, procedure after procedure. Its launches put
// together anew, so that nothing is compiled: `variants`, but without the kernels of which `trials`
// does not have all of their schedules there, since these would not be compared.
TrialVariants rearranged(const plan::Plan &trials, const std::vector<Assignment> &variants);

} // namespace sinter::cli
