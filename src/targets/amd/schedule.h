// Tile kernels to SIMT IR for AMD's processors.
#pragma once

#include "base/status.h"
#include "sched/simt/facts.h"
#include "targets/amd/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::amd {

sched::SimtFacts simtFacts(const AmdFacts &facts);

/// A new module in which every kernel is SIMT IR; where all have it already (`sched.threads`)
/// they are taken as they are. Diagnostics go to the context's handler; the Status names the
/// kernel.
Result<mlir::OwningOpRef<mlir::ModuleOp>> scheduleSimt(mlir::ModuleOp source,
                                                       const AmdFacts &facts);

} // namespace sinter::targets::amd
