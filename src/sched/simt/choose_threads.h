// How many threads run one program.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"

namespace sinter::sched {

/// A power of two for the kernel's largest tile, from a subgroup to what the processor allows.
int64_t chooseThreads(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
