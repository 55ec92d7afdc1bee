// What blocking may decide otherwise than by its rules: how the products of a kernel fill
// registers, and from how many rows on weights are copied or expanded first. No decision changes a
// bit of a result.
#pragma once

#include "targets/cpu/facts.h"
#include "targets/target.h"

namespace sinter::targets::cpu {

struct CpuSchedule {
  int64_t vectors = 0; // of columns side by side in a product; 0: as few loads as there can be
  int64_t rows = 0;    // most rows of a register block; 0: as many as fit
  int64_t smallM = 8;  // rows that read packed weights as they lie where more prepare them
  int64_t prefetchBytes =
      -1; // bytes that they are fetched ahead of use, 0: by hardware; -1: by rules
};

/// The vectors side by side that a product has by rules.
int64_t vectorsByRules(const CpuFacts &facts, tile::DotOp dot);

/// How far ahead of use memory is fetched where hardware does not: 8 rows by 3072 x 576 of Q8_0
/// take 125 us without, 100 with 2048, 90 with 4096, 102 with 8192 (two threads of a Xeon). On a
/// Zen 5 2048 takes 1.1 to 1.3 times as long as 4096 for one row and for 8, 8192 differs little.
/// For scalars they differ by 2 or 3 %.
inline constexpr int64_t kPrefetchBytes = 4096;

/// The bytes ahead of use at which a product of few rows fetches packed weights, by rules.
int64_t prefetchByRules(const CpuFacts &facts, tile::DotOp dot);

/// What the kernel's schedule says; rules for the rest.
CpuSchedule cpuScheduleOf(tile::KernelOp kernel);

/// The decisions that matter to this kernel.
std::vector<ScheduleDecision> decisionsOf(tile::KernelOp kernel, const CpuFacts &facts);

} // namespace sinter::targets::cpu
