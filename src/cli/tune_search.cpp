// Screening of all schedules, then a final among the best.
#include "cli/tune_search.h"

#include "cli/quantiles.h"

#include <algorithm>
#include <cmath>

namespace sinter::cli {
namespace {

uint64_t nanosecondsOf(const std::vector<double> &seconds) {
  return static_cast<uint64_t>(std::llround(median(seconds) * 1e9));
}

// What a variant takes by what the rules take, the median over all launches: one that lost its core
// to another process moves no median.
double ratioOf(const KernelTimes &times, size_t variant) {
  std::vector<double> ratios;
  for (size_t i = 0; i < times[variant].size(); ++i)
    ratios.push_back(times[variant][i] / std::max(times[0][i], 1e-9));
  return median(std::move(ratios));
}

bool decidesBlocks(const plan::ScheduleChoice &schedule) {
  return std::ranges::any_of(schedule.values,
                             [](const auto &value) { return value.first.starts_with("block_"); });
}

// Whether a schedule is made of whole alternatives: the best block sizes and the best of the
// target's decisions may be together. By rules it is made of none.
bool consistsOf(const plan::ScheduleChoice &schedule,
                const std::vector<plan::ScheduleChoice> &alternatives) {
  plan::ScheduleChoice covered;
  for (const plan::ScheduleChoice &alternative : alternatives)
    if (std::ranges::includes(schedule.values, alternative.values))
      covered.values.insert(alternative.values.begin(), alternative.values.end());
  return covered == schedule;
}

} // namespace

TuneSearch::TuneSearch(const plan::Plan &plan, const std::vector<runtime::TuningEntry> &known,
                       std::string machine)
    : machine_(std::move(machine)) {
  for (const plan::Kernel &kernel : plan.kernels) {
    const bool seen = std::ranges::any_of(
        kernels_, [&](const Kernel &other) { return other.content == kernel.content; });
    if (!runtime::isTuningContent(kernel.content) || kernel.alternatives.empty() || seen)
      continue;
    Kernel &added = kernels_.emplace_back();
    added.content = kernel.content;
    added.name = kernel.name.substr(0, runtime::kMaxTuningText);
    added.alternatives = kernel.alternatives;
    const auto entry = std::ranges::find(known, kernel.content, &runtime::TuningEntry::content);
    if (entry == known.end())
      continue;
    if (entry->tried <= added.alternatives.size() &&
        consistsOf(entry->schedule, added.alternatives))
      recall(added, *entry);
    else
      unfit_.push_back(*entry);
  }
}

void TuneSearch::recall(Kernel &kernel, const runtime::TuningEntry &entry) {
  const double ratio =
      static_cast<double>(entry.chosenNs) / std::max<double>(static_cast<double>(entry.rulesNs), 1);
  kernel.tried = entry.tried;
  kernel.chosen = {entry.schedule, ratio, entry.rulesNs, entry.chosenNs, entry.rows};
  kernel.rulesNs = entry.rulesNs;
  kernel.rows = entry.rows;
}

size_t TuneSearch::left() const {
  size_t left = 0;
  for (const Kernel &kernel : kernels_)
    left += kernel.alternatives.size() - kernel.tried;
  return left;
}

std::vector<Assignment> TuneSearch::next(size_t most) const {
  std::vector<Assignment> variants(most);
  for (const Kernel &kernel : kernels_)
    for (size_t i = 0; i < most && kernel.tried + i < kernel.alternatives.size(); ++i)
      variants[i][kernel.content] = kernel.alternatives[kernel.tried + i];
  std::erase_if(variants, [](const Assignment &variant) { return variant.empty(); });
  return variants;
}

// Over all sizes of steps in which the kernel runs the geometric mean; none where one of them
// becomes slower. Times are those of the size that gains most.
TuneSearch::Candidate TuneSearch::judge(const std::string &content,
                                        const plan::ScheduleChoice &schedule, size_t variant,
                                        const std::vector<StepTimes> &times) {
  Candidate candidate{schedule};
  double logs = 0, worst = 0, best = std::numeric_limits<double>::infinity();
  uint32_t steps = 0;
  for (const StepTimes &step : times) {
    const auto kernel = step.kernels.find(content);
    if (kernel == step.kernels.end())
      continue;
    const double ratio = ratioOf(kernel->second, variant);
    logs += std::log(ratio);
    worst = std::max(worst, ratio);
    ++steps;
    if (ratio >= best)
      continue;
    best = ratio;
    candidate.rows = step.rows;
    candidate.rulesNs = nanosecondsOf(kernel->second[0]);
    candidate.chosenNs = nanosecondsOf(kernel->second[variant]);
  }
  if (steps > 0 && worst <= kTolerable)
    candidate.ratio = std::exp(logs / steps);
  return candidate;
}

// What the rules take in the largest step that the kernel runs in.
void TuneSearch::noteRules(Kernel &kernel, const std::vector<StepTimes> &times) {
  uint32_t rows = 0;
  for (const StepTimes &step : times)
    if (const auto timed = step.kernels.find(kernel.content);
        timed != step.kernels.end() && step.rows > rows) {
      rows = kernel.rows = step.rows;
      kernel.rulesNs = nanosecondsOf(timed->second[0]);
    }
}

void TuneSearch::learn(const std::vector<Assignment> &variants,
                       const std::vector<StepTimes> &times) {
  for (Kernel &kernel : kernels_) {
    noteRules(kernel, times);
    for (size_t i = 0; i < variants.size(); ++i) {
      const auto tried = variants[i].find(kernel.content);
      if (tried == variants[i].end())
        continue;
      ++kernel.tried;
      Candidate candidate = judge(kernel.content, tried->second, i + 1, times);
      Candidate &best = decidesBlocks(tried->second) ? kernel.blocks : kernel.ofTarget;
      if (candidate.ratio < best.ratio)
        best = std::move(candidate);
    }
  }
}

std::vector<plan::ScheduleChoice> TuneSearch::finalistsOf(const Kernel &kernel) const {
  std::vector<plan::ScheduleChoice> finalists;
  const auto add = [&](const plan::ScheduleChoice &schedule) {
    if (!schedule.byRules() && std::ranges::count(finalists, schedule) == 0)
      finalists.push_back(schedule);
  };
  for (const Candidate *candidate : {&kernel.blocks, &kernel.ofTarget})
    if (candidate->ratio < 1)
      add(candidate->schedule);
  if (finalists.size() == 2) {
    plan::ScheduleChoice both = finalists[0];
    both.values.insert(finalists[1].values.begin(), finalists[1].values.end());
    add(both);
  }
  if (!finalists.empty())
    add(kernel.chosen.schedule);
  return finalists;
}

std::vector<Assignment> TuneSearch::finalists() const {
  std::vector<Assignment> variants;
  for (const Kernel &kernel : kernels_) {
    const std::vector<plan::ScheduleChoice> own = finalistsOf(kernel);
    variants.resize(std::max(variants.size(), own.size()));
    for (size_t i = 0; i < own.size(); ++i)
      variants[i][kernel.content] = own[i];
  }
  return variants;
}

void TuneSearch::settle(const std::vector<Assignment> &variants,
                        const std::vector<StepTimes> &times) {
  for (Kernel &kernel : kernels_) {
    noteRules(kernel, times);
    Candidate best;
    for (size_t i = 0; i < variants.size(); ++i) {
      const auto timed = variants[i].find(kernel.content);
      if (timed == variants[i].end())
        continue;
      Candidate candidate = judge(kernel.content, timed->second, i + 1, times);
      if (candidate.ratio < best.ratio)
        best = std::move(candidate);
      kernel.chosen = {};
    }
    if (best.ratio <= kWorthwhile)
      kernel.chosen = std::move(best);
    kernel.blocks = kernel.ofTarget = {};
  }
}

// Where the final did not come, a schedule needs a clearer lead.
runtime::TuningEntry TuneSearch::entryOf(const Kernel &kernel) const {
  const Candidate *chosen = &kernel.chosen;
  for (const Candidate *candidate : {&kernel.blocks, &kernel.ofTarget})
    if (candidate->ratio <= kWorthwhileAtOnce && candidate->ratio < chosen->ratio)
      chosen = candidate;
  if (chosen->schedule.byRules())
    return {machine_,     kernel.content, kernel.name,    {},
            kernel.tried, kernel.rows,    kernel.rulesNs, kernel.rulesNs};
  return {machine_,     kernel.content, kernel.name,     chosen->schedule,
          kernel.tried, chosen->rows,   chosen->rulesNs, chosen->chosenNs};
}

std::vector<runtime::TuningEntry> TuneSearch::entries() const {
  std::vector<runtime::TuningEntry> entries;
  for (const Kernel &kernel : kernels_)
    if (kernel.tried > 0)
      entries.push_back(entryOf(kernel));
  return entries;
}

} // namespace sinter::cli
