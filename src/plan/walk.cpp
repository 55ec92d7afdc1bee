// The step walker's stack.
#include "plan/walk.h"

namespace sinter::plan {

bool StepWalker::next() {
  if (opened_) {
    const auto *branch = std::get_if<If>(&opened_->op);
    frames_.push_back(
        {branch ? &branch->thenSteps : &std::get<Loop>(opened_->op).body, 0, opened_});
    opened_ = nullptr;
  }
  Frame &frame = frames_.back();
  if (frame.next == frame.steps->size())
    return leave();
  step_ = &(*frame.steps)[frame.next++];
  event_ = WalkEvent::Step;
  depth_ = static_cast<uint32_t>(frames_.size() - 1);
  if (std::holds_alternative<If>(step_->op) || std::holds_alternative<Loop>(step_->op))
    opened_ = step_;
  return true;
}

bool StepWalker::leave() {
  Frame &frame = frames_.back();
  if (!frame.owner)
    return false;
  step_ = frame.owner;
  depth_ = static_cast<uint32_t>(frames_.size() - 2);
  const auto *branch = std::get_if<If>(&step_->op);
  if (branch && frame.steps == &branch->thenSteps) {
    frame = {&branch->elseSteps, 0, step_};
    event_ = WalkEvent::Else;
    return true;
  }
  frames_.pop_back();
  event_ = WalkEvent::End;
  return true;
}

} // namespace sinter::plan
