// Sums of fused multiply-adds that threads hold side by side through a loop, in fewer registers.
#pragma once

#include "sched/sched.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// On a kernel whose loops have a sum for each element of a step along K (reduce_dots).
inline constexpr llvm::StringLiteral kFoldsSums = "sched.folds_sums";

/// In SIMT IR: of the sums that a loop carries, to each of which a step adds one product by a
/// multiply-add, and which are added up behind the loop, a thread keeps four. Each takes every
/// fourth product of a step in turn. Only such sums count as begin with zero.
void foldSums(tile::KernelOp kernel);

} // namespace sinter::sched
