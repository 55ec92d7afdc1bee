// Times of a plan's kernels under several schedules at once, taken in real steps.
#pragma once

#include "host/plan_store.h"
#include "llm/plan_runner.h"

#include <map>

namespace sinter::cli {

// How long trials may go on.
struct TrialEffort {
  uint32_t leastRounds = 3, mostRounds = 15;
  double secondsEach = 0; // of one size of step, once there are leastRounds
};

// By variant (0: the step itself) the seconds of each launch of a kernel, in order, round after
// round: times at one place were taken one right after another.
using KernelTimes = std::vector<std::vector<double>>;

// Steps of one size.
struct StepTimes {
  uint32_t rows = 0;
  std::map<std::string, KernelTimes> kernels; // by content
};

struct Trials {
  std::vector<StepTimes> steps; // the most rows first
  double loadSeconds = 0;       // for the plan and its weights
  double stepSeconds = 0;       // of the step itself, once in each size
};

// Runs a trial plan (host::buildTrialPlan) on `device`: 512 rows, or as many as the context holds,
// 8 and a token, each in rounds of the step and all its variants. Internal: a variant's logits are
// not those of the step, bit for bit; Cancelled: `cancel` was set.
Result<Trials> timeTrials(hal::Device &device, const GgufFile &file,
                          std::shared_ptr<const plan::Plan> plan, const TrialEffort &effort,
                          const std::atomic<bool> &cancel);

} // namespace sinter::cli
