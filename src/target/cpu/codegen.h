// The CPU target: tile kernels in, a shared object and launch facts out.
#pragma once

#include "base/status.h"
#include "target/cpu/emit.h"

namespace sinter::target::cpu {

/// Text of each stage, filled when asked for.
struct Stages {
  bool wanted = false;
  std::string sched, llvm, assembly;
};

struct CompiledModule {
  std::vector<uint8_t> sharedObject;
  std::vector<EmittedKernel> kernels; // in the order of the kernels of the source module
};

/// Compiles every tile.kernel of `source`. `source` is left unchanged. Diagnostics go to the
/// context's handler; the Status names the stage that failed.
Result<CompiledModule> compileKernels(mlir::ModuleOp source, const CpuFacts &facts,
                                      Stages *stages = nullptr);

/// Tile kernels to their blocked, scheduled form, as a new module.
Result<mlir::OwningOpRef<mlir::ModuleOp>> scheduleKernels(mlir::ModuleOp source,
                                                          const CpuFacts &facts);

} // namespace sinter::target::cpu
