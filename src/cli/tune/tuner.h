// Trials within a budget of time: what is compiled and timed, round by round, then a final.
#pragma once

#include "cli/tune/search.h"
#include "cli/tune/trial_costs.h"
#include "runtime/tuning_database.h"

#include <chrono>

namespace sinter::cli {

class Tuner {
public:
  // All must outlive the tuner. `obtained` is a plan of the model under any schedules.
  Tuner(const ModelFile &file, hal::Device &device, host::Observer &observer,
        const Precision &precision, const runtime::TuningDatabase &database,
        const host::ObtainedPlan &obtained, double budgetSeconds);

  // Trials until none is left, the budget is spent or the user ends them. Says first what the
  // smallest number of trials takes, which are made whatever the budget. What each round found is
  // in the database before the next begins.
  Result<void> run(TuneSearch &search);
  size_t trials() const { return trials_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
  using Clock = std::chrono::steady_clock;

  double remaining() const { return budgetSeconds_ - seconds(); }
  TrialEffort within(TrialEffort effort, double share) const;
  size_t kernelsOf(const std::vector<Assignment> &variants) const;
  double finalCost(const TuneSearch &search) const;
  Result<void> measure(const TuneSearch &search);
  std::vector<Assignment> nextRound(const TuneSearch &search) const;
  Result<void> screen(TuneSearch &search);
  Result<void> decide(TuneSearch &search);
  Result<void> compile(const std::vector<Assignment> &variants);
  Result<Trials> time(const TrialEffort &effort);

  const ModelFile &file_;
  hal::Device &device_;
  host::Observer &observer_;
  const Precision precision_;
  const runtime::TuningDatabase &database_;
  const double budgetSeconds_;
  const Clock::time_point start_ = Clock::now();
  std::shared_ptr<const plan::Plan> plan_; // compiled last
  const size_t stepKernels_;               // that a plan has without variants
  TrialCosts costs_;
  size_t trials_ = 0;
};

} // namespace sinter::cli
