// Tile kernels to SIMT IR for NVIDIA's processors.
#pragma once

#include "base/status.h"
#include "sched/simt/facts.h"
#include "targets/nvidia/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::nvidia {

sched::SimtFacts simtFacts(const NvidiaFacts &facts);

/// A new module in which every kernel is SIMT IR; where all have it already (`sched.threads`)
/// they are taken as they are. Diagnostics go to the context's handler; the Status names the
/// kernel. `laidOut` as sched::scheduleSimt has it.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
scheduleSimt(mlir::ModuleOp source, const NvidiaFacts &facts,
             llvm::function_ref<void(mlir::ModuleOp)> laidOut = {});

} // namespace sinter::targets::nvidia
