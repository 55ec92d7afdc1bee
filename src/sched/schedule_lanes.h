// The schedule of every target whose programs are blocks of threads: tile kernels to lane form.
#pragma once

#include "base/status.h"
#include "sched/lane_facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// A copy of `source` with every kernel in lane form. Diagnostics go to the context's handler; the
/// Status names the kernel and the step that failed.
Result<mlir::OwningOpRef<mlir::ModuleOp>> scheduleForLanes(mlir::ModuleOp source,
                                                           const LaneFacts &facts);

} // namespace sinter::sched
