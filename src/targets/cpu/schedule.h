// Decisions that blocking may make otherwise than by its rules: the register tiles of a kernel's
// matmuls, and the M from which weights are copied or expanded first. No decision changes a bit of
// a result.
#pragma once

#include "targets/cpu/facts.h"
#include "targets/target.h"

namespace sinter::targets::cpu {

struct CpuSchedule {
  int64_t vectors = 0; // of columns in a register tile; 0: those with the fewest loads
  int64_t rows = 0;    // most rows of a register tile; 0: as many as fit
  // The largest M that reads packed weights in place; a larger one prepares them.
  int64_t inPlaceRows = 8;
  // The same for block formats, which are read in passes of inPlaceRows rows; -1: by rules.
  int64_t inPlaceBlockRows = -1;
  // Prefetch distance of packed weights at small M; 0: hardware prefetch alone, -1: by rules.
  int64_t prefetchBytes = -1;
};

/// The vectors of columns that a register tile has by rules.
int64_t vectorsByRules(const CpuFacts &facts, tile::DotOp dot);

/// The largest M that reads block formats in place, by rules.
int64_t inPlaceByRules(const CpuFacts &facts);

/// The prefetch distance by rules. 8 rows by 3072 x 576 of Q8_0 take 125 us without prefetch, 100
/// with 2048, 90 with 4096, 102 with 8192 (two threads of a Xeon). On a Zen 5, 2048 takes 1.1
/// to 1.3 times as long as 4096 for one row and for 8; 8192 differs little. For unquantized weights
/// they differ by 2 or 3 %.
inline constexpr int64_t kPrefetchBytes = 4096;

/// The prefetch distance of a small-M matmul's packed weights, by rules.
int64_t prefetchByRules(const CpuFacts &facts, tile::DotOp dot);

/// What the kernel's schedule says; rules for the rest.
CpuSchedule cpuScheduleOf(tile::KernelOp kernel);

/// The decisions that matter to this kernel.
std::vector<ScheduleDecision> decisionsOf(tile::KernelOp kernel, const CpuFacts &facts);

} // namespace sinter::targets::cpu
