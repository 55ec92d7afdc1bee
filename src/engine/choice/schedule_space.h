// Which schedules a kernel may have beside the one that the rules of this folder give: block
// sizes here, decisions of the target beside them. None of them changes a bit of a result: sums
// along K and over columns ascend in any block (tests/engine/schedule_space_test.cpp).
#pragma once

#include "engine/choice/precision.h"
#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "kernels/tokens.h"
#include "plan/schedule_choice.h"
#include "targets/target.h"

#include <functional>
#include <map>

namespace sinter::engine {

// Schedules by the content of kernels (plan::Kernel::content); by rules where there is none.
using Tuning = std::map<std::string, plan::ScheduleChoice>;

using plan::ScheduleChoice;
using targets::ScheduleDecision;

// What a launch leaves open about its kernel, and what it decides about the kernel's schedule
// beside parameters.
struct Freedom {
  using Decisions = std::vector<std::pair<std::string, int64_t>>;
  bool blocks = false;        // block sizes of tasks on cores
  bool columns = true;        // how many of a product's a program has
  int64_t columnMultiple = 1; // whole multiples of this
  Decisions decided = {};     // of the target's, by name (sched/simt/decisions.h)
};
// Block sizes of tasks on cores may be chosen; threads of a block share sums by theirs.
Freedom freedomOf(const TargetProfile &profile);

// Block sizes that a kernel may have, the rules' among them, and an estimate of what it costs with
// some of them: larger is slower, in no unit.
struct BlockSpace {
  std::vector<ScheduleDecision> decisions;
  std::function<double(const ScheduleChoice &)> cost;
};

BlockSpace blockSpace(const kernels::Gemm &rules, const Freedom &freedom);
BlockSpace blockSpace(const kernels::RmsNorm &rules, const Freedom &freedom);
BlockSpace blockSpace(const kernels::QuantizeRows &rules, const Freedom &freedom);
// Of kernels without blocks to choose: attention's are formed with the batch.
template <class P> BlockSpace blockSpace(const P &, const Freedom &) {
  return {};
}

// All that may be decided about one kernel.
class ScheduleSpace {
public:
  // `rules` are the values of `blocks` that the rules give.
  ScheduleSpace(BlockSpace blocks, ScheduleChoice rules, std::vector<ScheduleDecision> ofTarget);

  bool empty() const { return alternatives().empty(); }
  // Whether each decision of the choice has one of its values.
  bool contains(const ScheduleChoice &choice) const;
  // What is worth a trial, likeliest first: block sizes that the estimate does not rule out, and
  // each of the target's decisions alone. Decisions of both kinds may be joined.
  const std::vector<ScheduleChoice> &alternatives() const { return alternatives_; }

private:
  void addBlocks();
  void addOfTarget();

  BlockSpace blocks_;
  ScheduleChoice rules_;
  std::vector<ScheduleDecision> ofTarget_;
  std::vector<ScheduleChoice> alternatives_;
};

// Gives a kernel's parameters the values that the choice has for them.
class ChoiceWriter : public kernels::FieldVisitor {
public:
  explicit ChoiceWriter(const ScheduleChoice &choice) : choice_(choice) {}
  void integer(std::string_view name, int64_t &value, int64_t, int64_t, std::string_view) override {
    if (auto found = choice_.values.find(name); found != choice_.values.end())
      value = found->second;
  }
  void extent(std::string_view, int64_t &, std::string_view) override {}
  void format(std::string_view, kernel::Element &, std::string_view) override {}
  void flag(std::string_view, bool &, std::string_view) override {}

private:
  const ScheduleChoice &choice_;
};

// The values of a kernel's parameters that the space decides.
class RulesReader : public kernels::FieldVisitor {
public:
  explicit RulesReader(const BlockSpace &space) : space_(space) {}
  void integer(std::string_view name, int64_t &value, int64_t, int64_t, std::string_view) override {
    for (const ScheduleDecision &decision : space_.decisions)
      if (decision.name == name)
        rules.values.emplace(name, value);
  }
  void extent(std::string_view, int64_t &, std::string_view) override {}
  void format(std::string_view, kernel::Element &, std::string_view) override {}
  void flag(std::string_view, bool &, std::string_view) override {}

  ScheduleChoice rules;

private:
  const BlockSpace &space_;
};

} // namespace sinter::engine
