// Products of one row as accumulators along K.
#pragma once

#include "sched/sched.h"

namespace sinter::sched {

/// Products of one row of scalars become multiplications and a reduction along K, which all threads
/// share: acc + sum over k of a[k] * b[n, k], in f32.
void reduceDots(tile::KernelOp kernel);

} // namespace sinter::sched
