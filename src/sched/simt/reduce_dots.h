// GEMV as a reduction along K.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"

namespace sinter::sched {

/// Matmuls with M = 1 of unquantized operands become multiplications and a reduction along K, which
/// all threads share: acc + sum over k of a[k] * b[n, k], in f32. Where the processor fuses sums,
/// each element of a step along K has a sum of its own, which goes around the loop, and those are
/// reduced once behind it.
void reduceDots(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
