// The schedule of every SIMT targets: tile kernels to SIMT IR.
#pragma once

#include "base/status.h"
#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// A copy of `source` with every kernel in SIMT IR; where all have it already they are taken as
/// they are. A kernel that says how many threads it has
/// (`sched.threads`) is scheduled by hand: it is laid out and distributed only. Diagnostics go to
/// the context's handler; the Status names the kernel and the step that failed. `laidOut`, if
/// given, sees the kernels before they are distributed: tiles with their layouts.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
scheduleSimt(mlir::ModuleOp source, const SimtFacts &facts,
             llvm::function_ref<void(mlir::ModuleOp)> laidOut = {});

} // namespace sinter::sched
