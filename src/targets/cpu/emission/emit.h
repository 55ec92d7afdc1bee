// Emission: a blocked kernel becomes one LLVM-dialect function over vectors of the machine's width.
#pragma once

#include "sched/sched.h"
#include "targets/cpu/facts.h"
#include "targets/target.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::cpu {

using targets::EmittedKernel;

/// On a matmul of blocks that reads them in the order in which they lie: as many bytes beyond what
/// it reads are fetched, none where they are 0.
inline constexpr llvm::StringLiteral kPrefetchDistance = "sched.prefetch_distance";

/// Emits `kernel` (blocked form) into `module` as
/// `void symbol(ptr buffers, ptr scalars, ptr scratch, i64 x, i64 y, i64 z)`.
/// Scalars, in argument order: a view's extents, then its strides in elements for every axis but a
/// contiguous innermost one; a scalar argument's bits.
mlir::FailureOr<EmittedKernel> emitKernel(tile::KernelOp kernel, mlir::ModuleOp module,
                                          const CpuFacts &facts);

} // namespace sinter::targets::cpu
