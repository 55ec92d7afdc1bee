// Distribution: a kernel whose tiles have layouts becomes the code of each thread.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Rewrites `kernel` after assignLayouts to SIMT IR: scalars and short vectors, the operations of
/// the sched dialect under "lanes", `sched.shared` set. Where accesses could be wider if extents
/// and strides were multiples of the vector, the body stands twice, chosen by what they are at
/// launch. Base addresses of views are multiples of 16 bytes. A tile that shared memory cannot
/// hold, or an operation without a form, is a diagnostic.
mlir::LogicalResult distribute(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
