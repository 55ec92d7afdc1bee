// Tile kernels to their lane form for AMD's processors.
#pragma once

#include "base/status.h"
#include "sched/lane_facts.h"
#include "target/amd/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::target::amd {

sched::LaneFacts laneFacts(const AmdFacts &facts);

/// A new module in which every kernel has lane form; where all have it already (`sched.threads`)
/// they are taken as they are. Diagnostics go to the context's handler; the Status names the
/// kernel.
Result<mlir::OwningOpRef<mlir::ModuleOp>> scheduleForLanes(mlir::ModuleOp source,
                                                           const AmdFacts &facts);

} // namespace sinter::target::amd
