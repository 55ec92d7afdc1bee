// GEMV as a reduction along K.
#pragma once

#include "sched/sched.h"

namespace sinter::sched {

/// Matmuls with M = 1 of unquantized operands become multiplications and a reduction along K, which
/// all threads share: acc + sum over k of a[k] * b[n, k], in f32.
void reduceDots(tile::KernelOp kernel);

} // namespace sinter::sched
