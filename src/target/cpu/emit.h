// Emission: a blocked kernel becomes one LLVM-dialect function over vectors of the machine's width.
#pragma once

#include "sched/sched.h"
#include "target/cpu/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::target::cpu {

/// What the runtime must know to launch an emitted kernel.
struct EmittedKernel {
  std::string symbol;
  int64_t bufferCount = 0;
  int64_t scalarCount = 0;
  int64_t scratchBytes = 0;
};

/// Emits `kernel` (blocked form) into `module` as
/// `void symbol(ptr buffers, ptr scalars, ptr scratch, i64 x, i64 y, i64 z)`.
/// Scalars, in argument order: a view's extents, then its strides in elements for every axis but a
/// contiguous innermost one; a scalar argument's bits.
mlir::FailureOr<EmittedKernel> emitKernel(tile::KernelOp kernel, mlir::ModuleOp module,
                                          const CpuFacts &facts);

} // namespace sinter::target::cpu
