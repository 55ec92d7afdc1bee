// Matmuls with opaque accumulators, whose element layout only the processor knows.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"

namespace sinter::sched {

/// Bytes of shared memory that a matmul of tiles [m, k] and [n, k] of 16-bit numbers takes.
int64_t opaqueSharedBytes(int64_t m, int64_t n, int64_t k);

/// Loops whose only matmul an instruction with opaque accumulators can do: operands go to shared
/// memory one step ahead, by way of registers, and the accumulators leave the loop's values until
/// it has ended. Weights may be dequantized there: for the next step, while this one multiplies.
/// The others stay as they are.
void opaqueDots(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts);

} // namespace sinter::sched
