// What blocking may decide otherwise than by its rules: how the products of a kernel fill
// registers, and from how many rows on weights are copied or expanded first. No decision changes a
// bit of a result.
#pragma once

#include "target/cpu/facts.h"
#include "target/target.h"

namespace sinter::target::cpu {

struct CpuSchedule {
  int64_t vectors = 0; // of columns side by side in a product; 0: as few loads as there can be
  int64_t rows = 0;    // most rows of a register block; 0: as many as fit
  int64_t fewRows = 8; // rows that read packed weights as they lie where more prepare them
};

/// The vectors side by side that a product has by rules.
int64_t vectorsByRules(const CpuFacts &facts, tile::DotOp dot);

/// What the kernel's schedule says; rules for the rest.
CpuSchedule cpuScheduleOf(tile::KernelOp kernel);

/// The decisions that matter to this kernel.
std::vector<ScheduleDecision> decisionsOf(tile::KernelOp kernel, const CpuFacts &facts);

} // namespace sinter::target::cpu
