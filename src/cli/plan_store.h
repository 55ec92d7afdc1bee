// The plan of a model for this machine: from the cache, or built by the compiler and kept.
#pragma once

#include "cli/compiler_process.h"
#include "cli/interrupts.h"
#include "llm/model.h"

namespace sinter::cli {

struct ObtainedPlan {
  std::shared_ptr<const plan::Plan> plan;
  double buildSeconds = 0; // 0 when it was in the cache
};

// `target` is the device's, and part of the plan's key, as are the model's digest and the compiler
// program itself. Progress and notes (a damaged entry that is built again, a plan that cannot be
// kept, a cache that cannot be used or trusted) go to stderr. Errors: findCompiler's and
// runCompiler's, Timeout where another process builds the plan for too long, and Corrupt when what
// the compiler wrote is not a plan.
Result<ObtainedPlan> obtainPlan(const ModelFile &model, const std::string &target,
                                Interrupts &interrupts);

} // namespace sinter::cli
