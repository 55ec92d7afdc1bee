// The CPU target: tile kernels in, a shared object and launch facts out.
#pragma once

#include "base/status.h"
#include "targets/cpu/emission/emit.h"

namespace sinter::targets::cpu {

/// Text of each stage, filled when asked for.
struct Stages {
  bool wanted = false;
  std::string sched, llvm, assembly;
};

/// Code of kernels, in the order of the kernels of the source module.
struct CompiledObject {
  std::vector<uint8_t> object; // relocatable
  std::vector<EmittedKernel> kernels;
};
struct CompiledModule {
  std::vector<uint8_t> sharedObject;
  std::vector<EmittedKernel> kernels;
};

/// Compiles every tile.kernel of `source`, which is left unchanged. Diagnostics go to the context's
/// handler; the Status names the stage that failed. Threads may do so side by side, each with a
/// context of its own.
Result<CompiledObject> compileToObject(mlir::ModuleOp source, const CpuFacts &facts,
                                       Stages *stages = nullptr);

/// The same, and links it: on one thread at a time (see linkShared).
Result<CompiledModule> compileKernels(mlir::ModuleOp source, const CpuFacts &facts,
                                      Stages *stages = nullptr);

/// Tile kernels to their blocked, scheduled form, as a new module.
Result<mlir::OwningOpRef<mlir::ModuleOp>> scheduleKernels(mlir::ModuleOp source,
                                                          const CpuFacts &facts);

} // namespace sinter::targets::cpu
