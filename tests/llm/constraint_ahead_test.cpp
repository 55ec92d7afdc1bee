// Masks made beside the steps: the same masks, errors and order, whenever the task runs.
#include "llm/sampler/constraint_ahead.h"

#include <deque>
#include <gmock/gmock.h>
#include <thread>

namespace sinter {
namespace {

using testing::ElementsAre;

// Allows the number of tokens so far, as a mask of that number; work in parts, and an error.
class Counting : public TokenConstraint {
public:
  explicit Counting(int parts = 1, uint64_t failAt = UINT64_MAX) : parts_(parts), failAt_(failAt) {}
  Result<std::span<const uint64_t>> allowed() override {
    mask_ = {count_};
    return std::span<const uint64_t>(mask_);
  }
  Result<void> accept(TokenId) override {
    if (++count_ == failAt_)
      return fail(Code::Unsupported, "it fails here");
    return {};
  }
  Result<bool> prepare() override {
    ++prepared;
    return prepared % parts_ == 0;
  }
  Result<Draft> draft() override {
    return Draft{{5, 6}, {TokenMask{count_ + 1}, TokenMask{count_ + 2}}};
  }
  int prepared = 0;

private:
  int parts_;
  uint64_t failAt_, count_ = 0;
  TokenMask mask_;
};

struct Line {
  std::deque<std::function<void()>> tasks;
  TaskPost post() {
    return [this](std::function<void()> task) { tasks.push_back(std::move(task)); };
  }
  void runOne() {
    const auto task = std::move(tasks.front());
    tasks.pop_front();
    task();
  }
};

uint64_t maskOf(ConstraintAhead &ahead) {
  const auto bits = ahead.allowed();
  EXPECT_TRUE(bits.has_value());
  return bits ? bits->front() : UINT64_MAX;
}

TEST(ConstraintAhead, IsReadyWhenItsTaskHasRun) {
  Line line;
  ConstraintAhead ahead(std::make_shared<Counting>(), line.post());
  EXPECT_FALSE(ahead.isReady());
  EXPECT_TRUE(ahead.drafted().empty());
  line.runOne();
  EXPECT_TRUE(ahead.isReady());
  EXPECT_EQ(maskOf(ahead), 0u);
  ASSERT_TRUE(ahead.accept(1));
  EXPECT_FALSE(ahead.isReady());
  line.runOne();
  EXPECT_EQ(maskOf(ahead), 1u);
}

// Masks of a draft are there without a task; another token throws the rest away.
TEST(ConstraintAhead, FollowsItsDraftWithoutATask) {
  Line line;
  ConstraintAhead ahead(std::make_shared<Counting>(), line.post());
  line.runOne();
  EXPECT_THAT(ahead.drafted(), ElementsAre(5, 6));
  ASSERT_TRUE(ahead.accept(5));
  EXPECT_TRUE(ahead.isReady());
  EXPECT_EQ(maskOf(ahead), 1u);
  EXPECT_THAT(ahead.drafted(), ElementsAre(6));
  ASSERT_TRUE(ahead.accept(7));
  EXPECT_FALSE(ahead.isReady());
  line.runOne();
  EXPECT_EQ(maskOf(ahead), 2u);
}

// Between the parts of a task that needs long, others have their turn.
TEST(ConstraintAhead, WorkInPartsGoesBackToTheEndOfTheLine) {
  Line line;
  const auto hard = std::make_shared<Counting>(3);
  ConstraintAhead slow(hard, line.post()), fast(std::make_shared<Counting>(), line.post());
  line.runOne();
  EXPECT_FALSE(slow.isReady());
  line.runOne();
  EXPECT_TRUE(fast.isReady());
  line.runOne();
  line.runOne();
  EXPECT_TRUE(slow.isReady());
  EXPECT_EQ(hard->prepared, 3);
}

TEST(ConstraintAhead, AnErrorIsToldWhenTheMaskIsAskedFor) {
  Line line;
  ConstraintAhead ahead(std::make_shared<Counting>(1, 1), line.post());
  line.runOne();
  ASSERT_TRUE(ahead.accept(1));
  line.runOne();
  const auto bits = ahead.allowed();
  ASSERT_FALSE(bits);
  EXPECT_EQ(bits.error().message, "it fails here");
}

TEST(ConstraintAhead, ATaskOfAnAnswerThatIsGoneDoesNothing) {
  Line line;
  const auto inner = std::make_shared<Counting>();
  {
    const ConstraintAhead ahead(inner, line.post());
  }
  line.runOne();
  EXPECT_EQ(inner->prepared, 0);
}

TEST(ConstraintAhead, WaitsForAnotherThread) {
  std::vector<std::thread> threads;
  ConstraintAhead ahead(std::make_shared<Counting>(),
                        [&](std::function<void()> task) { threads.emplace_back(std::move(task)); });
  EXPECT_EQ(maskOf(ahead), 0u); // waits
  for (uint64_t i = 1; i < 20; ++i) {
    ASSERT_TRUE(ahead.accept(1));
    EXPECT_EQ(maskOf(ahead), i);
  }
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
} // namespace sinter
