// Lifetimes of Temp buffers: one pass that numbers the inlined steps and records uses, one that
// joins them.
#include "plan/lifetime.h"

#include "base/check.h"
#include "plan/walk.h"

#include <algorithm>

namespace sinter::plan {
namespace {

constexpr uint32_t kNoLoop = UINT32_MAX;

struct LoopSpan {
  uint32_t parent; // the enclosing loop, or kNoLoop
  uint32_t depth;  // 1 for an outermost loop
  uint32_t first;
  uint32_t last;
};

struct Use {
  uint32_t position;
  uint32_t loop; // the innermost enclosing loop, or kNoLoop
};

class LifetimeFinder {
public:
  explicit LifetimeFinder(const Plan &plan) : plan_(plan), uses_(plan.buffers.size()) {}

  std::vector<Lifetime> run(ProcedureId procedure) {
    recordUses(procedure);
    std::vector<Lifetime> result;
    for (uint32_t i = 0; i < uses_.size(); ++i)
      if (!uses_[i].empty())
        result.push_back(join(BufferId{i}, uses_[i]));
    return result;
  }

private:
  void recordUses(ProcedureId procedure);
  void recordStep(const Step &step);
  void use(BufferId buffer);
  void openLoop();
  Lifetime join(BufferId buffer, const std::vector<Use> &uses) const;
  uint32_t depth(uint32_t loop) const { return loop == kNoLoop ? 0 : loops_[loop].depth; }
  uint32_t commonLoop(uint32_t a, uint32_t b) const;

  const Plan &plan_;
  std::vector<LoopSpan> loops_;
  std::vector<std::vector<Use>> uses_; // by buffer
  uint32_t position_ = 0;              // of the next step
  uint32_t loop_ = kNoLoop;            // the innermost open one
};

void LifetimeFinder::use(BufferId buffer) {
  if (plan_.buffers[buffer.index].kind == BufferKind::Temp)
    uses_[buffer.index].push_back({position_, loop_});
}

void LifetimeFinder::openLoop() {
  loops_.push_back({loop_, depth(loop_) + 1, position_, position_});
  loop_ = static_cast<uint32_t>(loops_.size() - 1);
}

void LifetimeFinder::recordStep(const Step &step) {
  if (const auto *launch = std::get_if<Launch>(&step.op)) {
    for (const BufferArg &arg : launch->buffers)
      use(arg.buffer);
  } else if (const auto *copy = std::get_if<Copy>(&step.op)) {
    use(copy->src);
    use(copy->dst);
  } else if (std::holds_alternative<Loop>(step.op)) {
    openLoop();
  }
  ++position_;
}

void LifetimeFinder::recordUses(ProcedureId procedure) {
  SINTER_CHECK(procedure.index < plan_.procedures.size());
  std::vector<StepWalker> open;
  open.emplace_back(plan_.procedures[procedure.index].steps);
  while (!open.empty()) {
    StepWalker &walker = open.back();
    if (!walker.next()) {
      open.pop_back();
      continue;
    }
    const Step &step = walker.step();
    if (walker.event() == WalkEvent::Step) {
      recordStep(step);
      if (const auto *call = std::get_if<Call>(&step.op))
        open.emplace_back(plan_.procedures[call->procedure.index].steps);
    } else if (walker.event() == WalkEvent::End && std::holds_alternative<Loop>(step.op)) {
      loops_[loop_].last = position_ - 1;
      loop_ = loops_[loop_].parent;
    }
  }
}

uint32_t LifetimeFinder::commonLoop(uint32_t a, uint32_t b) const {
  while (a != b) {
    if (depth(a) >= depth(b))
      a = loops_[a].parent;
    else
      b = loops_[b].parent;
  }
  return a;
}

Lifetime LifetimeFinder::join(BufferId buffer, const std::vector<Use> &uses) const {
  uint32_t home = uses[0].loop;
  for (const Use &use : uses)
    home = commonLoop(home, use.loop);
  Lifetime result{buffer, UINT32_MAX, 0};
  for (const Use &use : uses) {
    uint32_t first = use.position, last = use.position;
    // The outermost loop below the one that all uses share repeats this use: the bytes stay for all
    // of it.
    for (uint32_t loop = use.loop; loop != home; loop = loops_[loop].parent) {
      first = loops_[loop].first;
      last = loops_[loop].last;
    }
    result.first = std::min(result.first, first);
    result.last = std::max(result.last, last);
  }
  return result;
}

} // namespace

std::vector<Lifetime> computeLifetimes(const Plan &plan, ProcedureId procedure) {
  return LifetimeFinder(plan).run(procedure);
}

} // namespace sinter::plan
