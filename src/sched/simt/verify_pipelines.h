// What a kernel with pipelines must keep to before it is distributed, whoever wrote it.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Checks a kernel whose `sched.threads` says how many threads it has: that a block may have so
/// many; that pipelines are made where they are used by name and fit shared memory; fetches of
/// plain in views of two axes with the pipeline's elements, in whole pieces; matmuls by
/// instructions that the processor has, whole for every thread. Places in pipelines are not looked
/// at. Emits a diagnostic at the first operation that does not.
mlir::LogicalResult verifyPipelines(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
