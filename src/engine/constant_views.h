// Views that nothing writes during a run: kernels whose launches overlap read them before the
// launches before them have ended (sched/simt/overlap_launches.h).
#pragma once

#include "engine/kernel_set.h"
#include "plan/plan.h"

namespace sinter::engine {

// Marks each kernel's views (tile::kConstantName) to which every launch of the plan binds weights,
// constants or inputs that no launch and no copy writes. `kernels` are the plan's, not compiled
// yet.
void markConstantViews(const plan::Plan &plan, KernelSet &kernels);

} // namespace sinter::engine
