// The plan of a model for this machine: from the cache, or built by the compiler and kept.
#pragma once

#include "cli/compiler_process.h"
#include "cli/interrupts.h"
#include "hal/hal.h"
#include "llm/model.h"
#include "numeric/precision.h"

namespace sinter::cli {

struct ObtainedPlan {
  std::shared_ptr<const plan::Plan> plan;
  double buildSeconds = 0; // 0 when it was in the cache
};

// What a plan is built for.
struct PlanRequest {
  std::string target; // the device's
  Precision precision;
};

// The device's target and the precision are part of the plan's key, as are the model's digest and
// the compiler program itself. A plan that is found is used if its kernels have the schedules that
// tuning chose for the device; otherwise another is built in its place.
// Progress and notes (a damaged entry that is built again, a plan that cannot be kept, a cache that
// cannot be used or trusted, a damaged tuning database, without which kernels have the schedules of
// rules, schedules of it with which no plan can be built) go to stderr. Errors: findCompiler's and
// runCompiler's, Timeout where another process builds the plan for too long, and Corrupt when what
// the compiler wrote is not a plan.
Result<ObtainedPlan> obtainPlan(const ModelFile &model, const hal::DeviceInfo &device,
                                const Precision &precision, Interrupts &interrupts);

// The same without a word about schedules: from the cache whatever its kernels have, else by rules.
// What the kernels are and which other schedules they may have is the same in all such plans.
Result<ObtainedPlan> obtainPlanOfAnySchedules(const ModelFile &model, const hal::DeviceInfo &device,
                                              const Precision &precision, Interrupts &interrupts);

// A kernel's schedule in variant `variant` of the step; 0 is the step itself.
struct AskedSchedule {
  uint32_t variant = 0;
  std::string content; // plan::Kernel::content
  plan::ScheduleChoice schedule;
};
// A plan for trials, not kept: beside `step` it has procedures `step.1`, ... with the schedules
// asked for. Says nothing. Errors as obtainPlan's.
Result<plan::Plan> buildTrialPlan(const ModelFile &model, const hal::DeviceInfo &device,
                                  const Precision &precision,
                                  const std::vector<AskedSchedule> &schedules,
                                  Interrupts &interrupts);

// The plan for `device` in a file that `sinter compile` wrote. NotFound, naming the targets that
// the file has plans for: none of them runs on the device. InvalidArgument: it was built
// for another precision than was asked for.
Result<ObtainedPlan> readPlanFile(const std::string &path, hal::Device &device,
                                  const Precision &precision);

// What is compiled into one file.
struct CompileRequest {
  std::vector<std::string> targets;
  Precision precision;
  std::string output;
  bool keepGoing = false;
};
// Builds a plan for each target into the file `output`, which is written whole or not at all. The
// error of a target's compiler names the target. With keepGoing such an error goes to stderr, and
// the file has the plans of the other targets, if there are any. Returns how many targets failed.
// Errors as obtainPlan's, and Permission where the file cannot be written.
Result<size_t> compileTo(const ModelFile &model, const CompileRequest &request,
                         Interrupts &interrupts);

} // namespace sinter::cli
