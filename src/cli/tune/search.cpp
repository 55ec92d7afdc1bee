// Screening of all schedules, then a final among the best.
#include "cli/tune/search.h"

#include "cli/quantiles.h"
#include "plan/plan_text.h"

#include <algorithm>
#include <cmath>

namespace sinter::cli {
namespace {

uint64_t nanosecondsOf(const std::vector<double> &seconds) {
  return static_cast<uint64_t>(std::llround(median(seconds) * 1e9));
}

// What a variant takes by what the rules take, the median over all launches: one that lost its core
// to another process moves no median.
double medianRatio(const KernelTimes &times, size_t variant) {
  std::vector<double> ratios;
  for (size_t i = 0; i < times[variant].size(); ++i)
    ratios.push_back(times[variant][i] / std::max(times[0][i], 1e-9));
  return median(std::move(ratios));
}

runtime::TuningTimes compared(uint32_t rows, const KernelTimes &times, size_t variant) {
  const uint64_t rules = nanosecondsOf(times[0]);
  const double chosen = static_cast<double>(rules) * medianRatio(times, variant);
  return {rows, rules, static_cast<uint64_t>(std::llround(chosen))};
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

double ratioOf(const std::vector<runtime::TuningTimes> &times) {
  double logs = 0;
  for (const runtime::TuningTimes &size : times)
    logs += std::log(std::max(static_cast<double>(size.chosenNs), 1.0) /
                     std::max(static_cast<double>(size.rulesNs), 1.0));
  return times.empty() ? 1 : std::exp(logs / static_cast<double>(times.size()));
}

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
    added.name = plan::kernelText(kernel).substr(0, runtime::kMaxTuningText);
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
  kernel.tried = entry.tried;
  kernel.chosen = {entry.schedule, ratioOf(entry.times), entry.times};
  kernel.rules = entry.times;
  for (runtime::TuningTimes &size : kernel.rules)
    size.chosenNs = size.rulesNs;
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

// Infinitely slow where one size of step becomes slower.
TuneSearch::Candidate TuneSearch::judge(const std::string &content,
                                        const plan::ScheduleChoice &schedule, size_t variant,
                                        const std::vector<StepTimes> &times) {
  Candidate candidate;
  candidate.schedule = schedule;
  double worst = 0;
  for (const StepTimes &step : times)
    if (const auto kernel = step.kernels.find(content); kernel != step.kernels.end()) {
      candidate.times.push_back(compared(step.rows, kernel->second, variant));
      worst = std::max(worst, ratioOf({candidate.times.back()}));
    }
  if (!candidate.times.empty() && worst <= kTolerable)
    candidate.ratio = ratioOf(candidate.times);
  return candidate;
}

void TuneSearch::noteRules(Kernel &kernel, const std::vector<StepTimes> &times) {
  std::vector<runtime::TuningTimes> rules;
  for (const StepTimes &step : times)
    if (const auto timed = step.kernels.find(kernel.content); timed != step.kernels.end())
      rules.push_back(compared(step.rows, timed->second, 0));
  if (!rules.empty())
    kernel.rules = std::move(rules);
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
    bool timed = false;
    for (size_t i = 0; i < variants.size(); ++i) {
      const auto asked = variants[i].find(kernel.content);
      if (asked == variants[i].end())
        continue;
      timed = true;
      Candidate candidate = judge(kernel.content, asked->second, i + 1, times);
      if (candidate.ratio < best.ratio)
        best = std::move(candidate);
    }
    if (!timed)
      continue;
    kernel.chosen = best.ratio <= kWorthwhile ? std::move(best) : Candidate();
    kernel.blocks = kernel.ofTarget = {};
  }
}

// Where the final did not come, a schedule needs a clearer lead.
runtime::TuningEntry TuneSearch::entryOf(const Kernel &kernel) const {
  const Candidate *chosen = &kernel.chosen;
  for (const Candidate *candidate : {&kernel.blocks, &kernel.ofTarget})
    if (candidate->ratio <= kWorthwhileAtOnce && candidate->ratio < chosen->ratio)
      chosen = candidate;
  return {machine_,     kernel.content,
          kernel.name,  chosen->schedule,
          kernel.tried, chosen->schedule.byRules() ? kernel.rules : chosen->times};
}

std::vector<runtime::TuningEntry> TuneSearch::entries() const {
  std::vector<runtime::TuningEntry> entries;
  for (const Kernel &kernel : kernels_)
    if (kernel.tried > 0)
      entries.push_back(entryOf(kernel));
  return entries;
}

} // namespace sinter::cli
