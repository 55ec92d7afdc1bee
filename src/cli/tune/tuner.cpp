// Rounds of screening, as wide as the budget allows, and a final.
#include "cli/tune/tuner.h"

#include "base/number_text.h"
#include "cli/terminal.h"

#include <algorithm>

namespace sinter::cli {
namespace {

// Schedules of each kernel that are compiled and timed together at most: more share the cost of the
// rules' own kernels and times, fewer keep to the budget.
constexpr size_t kMostVariants = 6;
// Schedules of a kernel that come to the final as a rule: the best of each kind and both together.
constexpr size_t kFinalists = 3;
constexpr TrialEffort kProbe = {1, 1, 0};
constexpr TrialEffort kScreening = {3, 15, 1.0};
constexpr TrialEffort kFinal = {7, 31, 2.0};
// Of what is left, the time that steps of one size may take.
constexpr double kScreeningShare = 1.0 / 12, kFinalShare = 1.0 / 4;

} // namespace

Tuner::Tuner(const ModelFile &file, hal::Device &device, host::Observer &observer,
             const Precision &precision, const runtime::TuningDatabase &database,
             const host::ObtainedPlan &obtained, double budgetSeconds)
    : file_(file), device_(device), observer_(observer), precision_(precision), database_(database),
      budgetSeconds_(budgetSeconds), plan_(obtained.plan),
      stepKernels_(obtained.plan->kernels.size()) {
  if (obtained.buildSeconds > 0)
    costs_.kernelSeconds = obtained.buildSeconds / static_cast<double>(stepKernels_);
}

TrialEffort Tuner::within(TrialEffort effort, double share) const {
  effort.secondsEach = std::min(effort.secondsEach, std::max(0.0, share * remaining()));
  return effort;
}

size_t Tuner::kernelsOf(const std::vector<Assignment> &variants) const {
  size_t kernels = stepKernels_;
  for (const Assignment &variant : variants)
    kernels += variant.size();
  return kernels;
}

double Tuner::finalCost(const TuneSearch &search) const {
  return costs_.trial(stepKernels_ + kFinalists * search.kernels(), kFinalists,
                      within(kFinal, kFinalShare));
}

// A step of each size, to know what trials will take.
Result<void> Tuner::measure(const TuneSearch &search) {
  SINTER_ASSIGN(const Trials trials, time(kProbe));
  costs_.loadSeconds = trials.loadSeconds;
  costs_.stepSeconds = trials.stepSeconds;
  const double least = costs_.trial(kernelsOf(search.next(1)), 1, {kScreening.leastRounds, 15, 0}) +
                       costs_.timing(1, {kFinal.leastRounds, 31, 0});
  sayOnStderr("one round of trials and its final take about " + fixed(least, 0) +
              " s, the budget is " + fixed(budgetSeconds_, 0) + " s");
  return {};
}

// The first round has one variant and measures what trials cost. Later rounds have as many as the
// budget holds together with their final, or none.
std::vector<Assignment> Tuner::nextRound(const TuneSearch &search) const {
  if (trials_ == 0)
    return search.next(1);
  const TrialEffort effort = within(kScreening, kScreeningShare);
  for (size_t most = kMostVariants; most > 0; --most) {
    std::vector<Assignment> variants = search.next(most);
    if (costs_.trial(kernelsOf(variants), variants.size(), effort) + finalCost(search) <=
        remaining())
      return variants;
  }
  return {};
}

Result<void> Tuner::compile(const std::vector<Assignment> &variants) {
  std::vector<host::AskedSchedule> asked;
  for (uint32_t i = 0; i < variants.size(); ++i)
    for (const auto &[content, schedule] : variants[i])
      asked.push_back({i + 1, content, schedule});
  const double before = seconds();
  SINTER_ASSIGN(plan::Plan plan,
                host::buildTrialPlan(file_, device_.info(), precision_, asked, observer_));
  costs_.kernelSeconds = (seconds() - before) / static_cast<double>(plan.kernels.size());
  plan_ = std::make_shared<const plan::Plan>(std::move(plan));
  return {};
}

Result<Trials> Tuner::time(const TrialEffort &effort) {
  return timeTrials(device_, file_.gguf(), plan_, effort, observer_.cancel());
}

Result<void> Tuner::screen(TuneSearch &search) {
  const size_t all = search.left();
  ProgressLine line("tuning");
  for (;;) {
    const std::vector<Assignment> variants = nextRound(search);
    if (variants.empty())
      return {};
    line.show(all - search.left(), all,
              "trials, " + fixed(seconds(), 0) + " of " + fixed(budgetSeconds_, 0) + " s");
    SINTER_TRY(compile(variants));
    SINTER_ASSIGN(const Trials trials, time(within(kScreening, kScreeningShare)));
    search.learn(variants, trials.steps);
    trials_ = all - search.left();
    SINTER_TRY(database_.merge(search.entries()));
  }
}

// Among what was compiled last where that is all, or where the budget is spent.
Result<void> Tuner::decide(TuneSearch &search) {
  std::vector<Assignment> finalists = search.finalists();
  if (finalists.empty())
    return {};
  ProgressLine line("comparing the best");
  line.show(0, 1, "final");
  const TrialEffort effort = within(kFinal, kFinalShare);
  TrialVariants compiled = rearranged(*plan_, finalists);
  if (!compiled.whole &&
      costs_.trial(kernelsOf(finalists), finalists.size(), effort) <= remaining()) {
    SINTER_TRY(compile(finalists));
  } else {
    finalists = std::move(compiled.variants);
    plan_ = std::make_shared<const plan::Plan>(std::move(compiled.plan));
  }
  if (finalists.empty())
    return {};
  SINTER_ASSIGN(const Trials trials, time(effort));
  search.settle(finalists, trials.steps);
  return database_.merge(search.entries());
}

Result<void> Tuner::run(TuneSearch &search) {
  if (search.left() > 0) {
    SINTER_TRY(measure(search));
    SINTER_TRY(screen(search));
  }
  return decide(search);
}

} // namespace sinter::cli
