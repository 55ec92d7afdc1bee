// Masks made by another thread while a model's step runs.
#pragma once

#include "llm/sampler/constraint.h"

#include <functional>
#include <memory>

namespace sinter {

// Runs a task later, on another thread, after those that were posted before.
using TaskPost = std::function<void(std::function<void()>)>;

// Moves `inner` along by tasks: each makes the mask after the last token, and a draft with its
// masks. A task that needs long goes back to the end of the line. After this object's death a task
// that still runs ends soon; what `inner` borrows must outlive it. For one thread, but for the
// tasks.
class ConstraintAhead : public TokenConstraint {
public:
  ConstraintAhead(std::shared_ptr<TokenConstraint> inner, TaskPost post);
  ~ConstraintAhead() override;

  // Waits where the mask is not ready. The errors of `inner`, those of its accept() too.
  Result<std::span<const uint64_t>> allowed() override;
  Result<void> accept(TokenId token) override;
  bool isReady() override;
  void waitUntilReady(std::chrono::microseconds most) override;
  std::span<const TokenId> drafted() override;

private:
  struct Line;
  static void advance(const std::shared_ptr<Line> &line);

  std::shared_ptr<Line> line_;
};

} // namespace sinter
