// What a scheduled kernel may take of a CPU: registers for each block, scratch for each thread.
#pragma once

#include "targets/cpu/facts.h"
#include "tile/tile.h"

namespace sinter::targets::cpu {

/// Scratch of one thread, in bytes: far beyond any cache, and as much as a plan may ask for.
inline constexpr int64_t kMostScratchBytes = int64_t(1) << 30;

/// Fails, with an error at the operation, where a register block takes more than three quarters of
/// the machine's vector registers, or all scratch together more than kMostScratchBytes.
mlir::LogicalResult verifyBudget(tile::KernelOp kernel, const CpuFacts &facts);

} // namespace sinter::targets::cpu
