// What both threads share lies under a lock; `inner` is the task's while one is under way.
#include "llm/sampler/constraint_ahead.h"

#include "base/check.h"

#include <condition_variable>
#include <mutex>

namespace sinter {

struct ConstraintAhead::Line {
  std::shared_ptr<TokenConstraint> inner;
  TaskPost post;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<TokenId> accepted; // that `inner` has not heard of
  bool isRunning = false;        // a task is posted or runs
  bool isOver = false;           // nobody waits any more
  TokenMask mask;                // after the last token, where no task runs
  Draft draft;                   // of which the first `used` tokens have come
  size_t used = 0;
  std::optional<Status> broken;

  std::span<const TokenId> left() const { return std::span(draft.tokens).subspan(used); }
  void finish(Result<Draft> made, TokenMask allowed);
};

void ConstraintAhead::Line::finish(Result<Draft> made, TokenMask allowed) {
  const std::lock_guard lock(mutex);
  if (made)
    draft = std::move(*made);
  else
    broken = std::move(made).error();
  mask = std::move(allowed);
  isRunning = false;
  changed.notify_all();
}

namespace {

// Nothing: some work is left.
Result<std::optional<Draft>> advanceOnce(TokenConstraint &inner, std::span<const TokenId> tokens,
                                         TokenMask &mask) {
  for (const TokenId token : tokens)
    SINTER_TRY(inner.accept(token));
  SINTER_ASSIGN(const bool isDone, inner.prepare());
  if (!isDone)
    return std::nullopt;
  SINTER_ASSIGN(const std::span<const uint64_t> bits, inner.allowed());
  mask.assign(bits.begin(), bits.end());
  return inner.draft();
}

} // namespace

void ConstraintAhead::advance(const std::shared_ptr<Line> &line) {
  std::vector<TokenId> tokens;
  {
    const std::lock_guard lock(line->mutex);
    if (line->isOver)
      return;
    std::swap(tokens, line->accepted);
  }
  TokenMask mask;
  auto made = advanceOnce(*line->inner, tokens, mask);
  if (made && !*made)
    return line->post([line] { advance(line); });
  line->finish(made ? Result<Draft>(std::move(**made)) : Fail(std::move(made).error()),
               std::move(mask));
}

ConstraintAhead::ConstraintAhead(std::shared_ptr<TokenConstraint> inner, TaskPost post)
    : line_(std::make_shared<Line>()) {
  line_->inner = std::move(inner);
  line_->post = std::move(post);
  line_->isRunning = true;
  line_->post([line = line_] { advance(line); });
}

ConstraintAhead::~ConstraintAhead() {
  const std::lock_guard lock(line_->mutex);
  line_->isOver = true;
}

Result<std::span<const uint64_t>> ConstraintAhead::allowed() {
  std::unique_lock lock(line_->mutex);
  line_->changed.wait(lock, [&] { return !line_->isRunning; });
  if (line_->broken)
    return Fail(*line_->broken);
  return line_->used == 0 ? line_->mask : line_->draft.masks[line_->used - 1];
}

Result<void> ConstraintAhead::accept(TokenId token) {
  {
    const std::lock_guard lock(line_->mutex);
    SINTER_CHECK(!line_->isRunning);
    line_->accepted.push_back(token);
    if (!line_->left().empty() && line_->left().front() == token) {
      ++line_->used; // its mask is there
      return {};
    }
    if (line_->broken)
      return {};
    line_->isRunning = true;
    line_->draft = {};
    line_->used = 0;
  }
  line_->post([line = line_] { advance(line); });
  return {};
}

bool ConstraintAhead::isReady() {
  const std::lock_guard lock(line_->mutex);
  return !line_->isRunning;
}

void ConstraintAhead::waitUntilReady(std::chrono::microseconds most) {
  std::unique_lock lock(line_->mutex);
  line_->changed.wait_for(lock, most, [&] { return !line_->isRunning; });
}

std::span<const TokenId> ConstraintAhead::drafted() {
  const std::lock_guard lock(line_->mutex);
  return line_->isRunning ? std::span<const TokenId>() : line_->left();
}

} // namespace sinter
