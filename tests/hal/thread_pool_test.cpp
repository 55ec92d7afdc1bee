// The pool covers every index once, from one thread to more than there are cores, in and out of
// steps.
#include "hal/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <thread>

namespace sinter::hal {
namespace {

struct Coverage {
  std::vector<std::atomic<int>> visits;
  std::atomic<uint32_t> wrongThreads = 0;
  uint32_t threads;
};

void visit(void *context, uint32_t thread, int64_t first, int64_t last) {
  auto &coverage = *static_cast<Coverage *>(context);
  coverage.wrongThreads += thread >= coverage.threads;
  for (int64_t i = first; i < last; ++i)
    coverage.visits[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed);
}

void expectCovered(ThreadPool &pool, int64_t count) {
  Coverage coverage{std::vector<std::atomic<int>>(static_cast<std::size_t>(count)), 0,
                    pool.threads()};
  pool.run(count, visit, &coverage);
  for (const auto &visits : coverage.visits)
    ASSERT_EQ(visits.load(), 1) << "of " << count << " on " << pool.threads() << " threads";
  EXPECT_EQ(coverage.wrongThreads, 0u);
}

class ThreadPoolTest : public ::testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override {
    auto pool = ThreadPool::create(GetParam());
    ASSERT_TRUE(pool.has_value()) << pool.error().toString();
    pool_ = std::move(*pool);
  }
  std::unique_ptr<ThreadPool> pool_;
};

TEST_P(ThreadPoolTest, CoversEveryIndexOnceOutsideOfAStep) {
  for (int64_t count : {0, 1, 2, 3, 7, 16, 17, 100, 1009})
    expectCovered(*pool_, count);
}

TEST_P(ThreadPoolTest, CoversEveryIndexOnceInManyShortJobsOfAStep) {
  for (int step = 0; step < 20; ++step) {
    pool_->enterStep();
    for (int64_t count = 0; count < 50; ++count)
      expectCovered(*pool_, count);
    pool_->leaveStep();
  }
}

TEST_P(ThreadPoolTest, StepsNest) {
  pool_->enterStep();
  pool_->enterStep();
  expectCovered(*pool_, 33);
  pool_->leaveStep();
  expectCovered(*pool_, 33);
  pool_->leaveStep();
  expectCovered(*pool_, 33);
}

TEST_P(ThreadPoolTest, AJobSeesWhatTheOneBeforeItWrote) {
  std::vector<int64_t> values(1000, 0);
  pool_->enterStep();
  for (int round = 0; round < 200; ++round)
    pool_->run(
        1000,
        [](void *context, uint32_t, int64_t first, int64_t last) {
          auto &values = *static_cast<std::vector<int64_t> *>(context);
          // Plain memory: each job must see the other threads' writes of the last one.
          for (int64_t i = first; i < last; ++i)
            ++values[static_cast<std::size_t>(999 - i)];
        },
        &values);
  pool_->leaveStep();
  EXPECT_EQ(values, std::vector<int64_t>(1000, 200));
}

TEST_P(ThreadPoolTest, IsTornDownInsideAnOpenStep) {
  pool_->enterStep();
  expectCovered(*pool_, 5);
  pool_.reset();
  EXPECT_EQ(pool_, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 3, 8, 33));

} // namespace
} // namespace sinter::hal
