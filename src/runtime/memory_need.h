// What a plan takes of a device's memory, by its formulas alone.
#pragma once

#include "plan/plan.h"

#include <span>

namespace sinter::runtime {

// Bytes.
struct MemoryNeed {
  uint64_t weights = 0; // packed
  uint64_t constants = 0;
  uint64_t state = 0;
  uint64_t inputsAndOutputs = 0;
  uint64_t temporary = 0; // where lifetimes share memory as the executor places them

  uint64_t all() const { return weights + constants + state + inputsAndOutputs + temporary; }
};

// Of one procedure under these values of the plan's symbols, one each in the plan's order. The plan
// must satisfy validate(). InvalidArgument: a size cannot be computed, or all exceed 63 bits.
// Exhausted: more temporary buffers than kMaxArenaItems.
Result<MemoryNeed> memoryNeed(const plan::Plan &plan, plan::ProcedureId procedure,
                              std::span<const int64_t> symbolValues);

} // namespace sinter::runtime
