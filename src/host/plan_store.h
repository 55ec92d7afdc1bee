// The plan of a model for a device: from the cache, or built by the compiler and kept.
#pragma once

#include "hal/hal.h"
#include "host/observer.h"
#include "llm/model.h"
#include "numeric/precision.h"

namespace sinter::host {

struct ObtainedPlan {
  std::shared_ptr<const plan::Plan> plan;
  double buildSeconds = 0; // 0 when it was in the cache
};

// The device's target and the precision are part of the plan's key, as are the model's digest and
// the compiler program itself. A plan that is found is used if its kernels have the schedules that
// tuning chose for the device; otherwise another is built in its place.
// Notes: a damaged entry that is built again, a plan that cannot be kept, a cache that cannot be
// used or trusted, a damaged tuning database, without which kernels have the schedules of rules,
// schedules of it with which no plan can be built. Errors: findCompiler's and runCompiler's,
// Timeout where another process builds the plan for too long, and Corrupt when what the compiler
// wrote is not a plan.
Result<ObtainedPlan> obtainPlan(const ModelFile &model, const hal::DeviceInfo &device,
                                const Precision &precision, Observer &observer);

// The same without regard to schedules: from the cache whatever its kernels have, else by rules.
// What the kernels are and which other schedules they may have is the same in all such plans.
Result<ObtainedPlan> obtainPlanOfAnySchedules(const ModelFile &model, const hal::DeviceInfo &device,
                                              const Precision &precision, Observer &observer);

// A kernel's schedule in variant `variant` of the step; 0 is the step itself.
struct AskedSchedule {
  uint32_t variant = 0;
  std::string content; // plan::Kernel::content
  plan::ScheduleChoice schedule;
};
// A plan for trials, not kept: beside `step` it has procedures `step.1`, ... with the schedules
// asked for. The observer hears nothing. Errors as obtainPlan's.
Result<plan::Plan> buildTrialPlan(const ModelFile &model, const hal::DeviceInfo &device,
                                  const Precision &precision,
                                  const std::vector<AskedSchedule> &schedules, Observer &observer);

} // namespace sinter::host
