// What a kernel's source may decide about its SIMT schedule (tile::setSchedule). No decision
// changes a bit of a result, but for threads where rows are reduced: sums are added in their order.
#pragma once

#include "tile/tile.h"

namespace sinter::sched {

/// The most stages of a matmul's multistage pipeline in shared memory.
inline constexpr llvm::StringLiteral kStages = "stages";
/// Steps along K that the loads of a matmul's dequantized operand run ahead at most; its loop is
/// unrolled as often. Half as many, and so on, where steps do not come out even or a thread's
/// registers do not hold what they load.
inline constexpr llvm::StringLiteral kStepsAhead = "steps_ahead";

/// Threads of a thread block: a power of two of whole subgroups, from kFewestThreads on. Matmuls
/// whose subgroups share K have threads of their own.
inline constexpr llvm::StringLiteral kThreads = "threads";
inline constexpr int64_t kFewestThreads = 32;

/// Blocks of a program that have one share of K each, of a matmul that adds up so many shares
/// (add_shares).
inline constexpr llvm::StringLiteral kShareBlocks = "share_blocks";
/// 1: a matmul that adds up shares multiplies by an instruction that reads tokens in shared memory,
/// where the processor has one for its tile (readingInstruction).
inline constexpr llvm::StringLiteral kReadingGroups = "reading_groups";

/// The kernel's decision of that name, or `otherwise`.
int64_t decisionOf(tile::KernelOp kernel, llvm::StringRef name, int64_t otherwise);

} // namespace sinter::sched
