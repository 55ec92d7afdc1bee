// Matmuls with opaque accumulators, whose element layout only the processor knows.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"

namespace sinter::sched {

/// Loops whose only matmul an instruction with opaque accumulators can do: operands go to shared
/// memory one step ahead, by way of registers, and the accumulators leave the loop's values until
/// it has ended. The others stay as they are.
void opaqueDots(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts);

} // namespace sinter::sched
