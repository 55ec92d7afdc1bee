// The plan of a model for this machine: from the cache, or built by the compiler and kept.
#pragma once

#include "cli/compiler_process.h"
#include "cli/interrupts.h"
#include "hal/hal.h"
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

// The plan for `device` in a file that `sinter compile` wrote. NotFound, naming the targets that
// the file has plans for: none of them runs on the device.
Result<ObtainedPlan> readPlanFile(const std::string &path, hal::Device &device);

// Builds the plans for all of `targets` (with commas between them) into the file `output`, which is
// written whole or not at all. Errors as obtainPlan's, and Permission where it cannot be written.
Result<void> compileTo(const ModelFile &model, const std::string &targets,
                       const std::string &output, Interrupts &interrupts);

} // namespace sinter::cli
