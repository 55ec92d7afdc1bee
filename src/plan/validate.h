// Whether a plan is one that the runtime can execute without further checks of its structure.
#pragma once

#include "plan/plan.h"

namespace sinter::plan {

// Where a parsed plan's parts begin in their file; `steps` in textual order over all procedures.
// Empty tables give errors without a byte offset.
struct PlanOffsets {
  std::vector<uint64_t> symbols, modules, kernels, buffers, procedures, steps;
};

// Checks everything that does not depend on symbol values: ids in range, names present and unique,
// expressions well formed, buffers as their kind demands, pack recipes, launches against their
// kernels, nesting and size limits, no call cycles. The first fault found is returned as
// Code::Corrupt, with its byte offset where known.
Result<void> validate(const Plan &plan, const PlanOffsets &offsets = {});

// A recipe on its own; `what` begins the message.
Result<void> validateRecipe(const PackRecipe &recipe, const std::string &what);

} // namespace sinter::plan
