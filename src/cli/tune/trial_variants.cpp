// Launches at one place of all procedures are of one kernel, each with another schedule.
#include "cli/tune/trial_variants.h"

#include "base/check.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace sinter::cli {
namespace {

void pushReversed(std::vector<plan::Step> &steps, std::vector<plan::Step *> &open) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    open.push_back(&*step);
}

// In textual order.
std::vector<plan::Launch *> launchesOf(plan::Procedure &procedure) {
  std::vector<plan::Launch *> launches;
  std::vector<plan::Step *> open;
  pushReversed(procedure.steps, open);
  while (!open.empty()) {
    plan::Step &step = *open.back();
    open.pop_back();
    if (auto *launch = std::get_if<plan::Launch>(&step.op)) {
      launches.push_back(launch);
    } else if (auto *branch = std::get_if<plan::If>(&step.op)) {
      pushReversed(branch->elseSteps, open);
      pushReversed(branch->thenSteps, open);
    } else if (auto *loop = std::get_if<plan::Loop>(&step.op)) {
      pushReversed(loop->body, open);
    }
  }
  return launches;
}

class Rearranger {
public:
  explicit Rearranger(const plan::Plan &trials) : trials_(trials), plan_(trials) {
    for (plan::Procedure &procedure : plan_.procedures)
      launches_.push_back(launchesOf(procedure));
    for (const auto &launches : launches_)
      SINTER_CHECK(launches.size() == launches_.front().size()); // schedules change no step
  }

  TrialVariants make(std::vector<Assignment> variants) {
    TrialVariants made;
    const size_t dropped = dropMissing(variants);
    std::erase_if(variants, [](const Assignment &variant) { return variant.empty(); });
    made.whole = dropped == 0;
    made.plan = trials_;
    made.plan.procedures.resize(1);
    for (const Assignment &variant : variants)
      made.plan.procedures.push_back(procedureOf(variant, made.plan.procedures.size()));
    made.variants = std::move(variants);
    return made;
  }

private:
  const plan::Kernel &kernelOf(const plan::Launch &launch) const {
    return trials_.kernels[launch.kernel.index];
  }

  // Of any procedure at that place with that schedule.
  const plan::Launch *find(size_t place, const plan::ScheduleChoice &schedule) const {
    for (const auto &launches : launches_)
      if (kernelOf(*launches[place]).schedule == schedule)
        return launches[place];
    return nullptr;
  }

  // Kernels that lack a schedule; how many there were.
  size_t dropMissing(std::vector<Assignment> &variants) const {
    std::set<std::string> present, missing;
    for (size_t place = 0; place < launches_.front().size(); ++place) {
      const std::string &content = kernelOf(*launches_.front()[place]).content;
      present.insert(content);
      for (const Assignment &variant : variants)
        if (const auto asked = variant.find(content);
            asked != variant.end() && !find(place, asked->second))
          missing.insert(content);
    }
    for (Assignment &variant : variants)
      std::erase_if(variant, [&](const auto &asked) {
        const bool drop = missing.contains(asked.first) || !present.contains(asked.first);
        if (drop)
          missing.insert(asked.first);
        return drop;
      });
    return missing.size();
  }

  plan::Procedure procedureOf(const Assignment &variant, size_t number) const {
    plan::Procedure procedure = trials_.procedures.front();
    procedure.name += "." + std::to_string(number);
    const std::vector<plan::Launch *> own = launchesOf(procedure);
    for (size_t place = 0; place < own.size(); ++place)
      if (const auto asked = variant.find(kernelOf(*own[place]).content); asked != variant.end())
        *own[place] = *find(place, asked->second);
    return procedure;
  }

  const plan::Plan &trials_;
  plan::Plan plan_;                                   // a copy, for its launches
  std::vector<std::vector<plan::Launch *>> launches_; // by procedure
};

} // namespace

TrialVariants rearranged(const plan::Plan &trials, const std::vector<Assignment> &variants) {
  return Rearranger(trials).make(variants);
}

} // namespace sinter::cli
