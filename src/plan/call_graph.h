// Which procedure calls which, and how large each is with its calls inlined.
#pragma once

#include "plan/plan.h"

#include <span>

namespace sinter::plan {

// Refuses call cycles, and procedures above kMaxInlinedDepth or kMaxInlinedSteps with their calls
// inlined, as Code::Corrupt. `offsets`, which may be empty, holds each procedure's byte offset.
// Call targets are in range.
Result<void> checkCallGraph(const Plan &plan, std::span<const uint64_t> offsets);

} // namespace sinter::plan
