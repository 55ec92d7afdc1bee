// Tile kernels to their lane form for NVIDIA's processors.
#pragma once

#include "base/status.h"
#include "target/nvidia/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::target::nvidia {

/// A new module in which every kernel has lane form; where all have it already (`sched.threads`)
/// they are taken as they are. Diagnostics go to the context's handler; the Status names the
/// kernel.
Result<mlir::OwningOpRef<mlir::ModuleOp>> scheduleForLanes(mlir::ModuleOp source,
                                                           const NvidiaFacts &facts);

} // namespace sinter::target::nvidia
