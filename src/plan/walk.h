// Visits the steps of a procedure in textual order without recursion.
#pragma once

#include "plan/plan.h"

namespace sinter::plan {

enum class WalkEvent : uint8_t {
  Step, // a step is met; for If and Loop its inner steps follow
  Else, // between the two branches of an If
  End,  // after the last inner step of an If or Loop
};

// Use: `for (StepWalker w(procedure.steps); w.next();) switch (w.event()) ...`. The steps must
// outlive the walker and stay unchanged.
class StepWalker {
public:
  explicit StepWalker(const std::vector<Step> &steps) { frames_.push_back({&steps, 0, nullptr}); }

  // Moves to the next event; false after the last.
  bool next();

  WalkEvent event() const { return event_; }
  // The step of a Step event, or the If or Loop of an Else or End event.
  const Step &step() const { return *step_; }
  // How many If and Loop steps enclose step().
  uint32_t depth() const { return depth_; }

private:
  struct Frame {
    const std::vector<Step> *steps;
    std::size_t next;
    const Step *owner; // the If or Loop that holds these steps
  };

  bool leave();

  std::vector<Frame> frames_;
  const Step *opened_ = nullptr; // an If or Loop just met, whose inner steps come next
  const Step *step_ = nullptr;
  WalkEvent event_ = WalkEvent::Step;
  uint32_t depth_ = 0;
};

} // namespace sinter::plan
