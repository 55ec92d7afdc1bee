// The pool covers every index once, from one thread to more than there are cores, in and out of
// steps.
#include "hal/cpu/thread_pool.h"

#include <atomic>
#include <chrono>
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

TEST_P(ThreadPoolTest, CoversMorePointsThanAShareCounts) {
  expectCovered(*pool_, int64_t{3} * WorkShare::kMostUnits + 7);
}

struct FirstPieces {
  std::vector<std::atomic<int64_t>> firsts;
  std::atomic<uint32_t> arrived = 0;
};

// Nobody gets a second piece before all have their first.
void meetAll(void *context, uint32_t thread, int64_t first, int64_t) {
  auto &pieces = *static_cast<FirstPieces *>(context);
  int64_t none = -1;
  if (!pieces.firsts[thread].compare_exchange_strong(none, first))
    return;
  ++pieces.arrived;
  while (pieces.arrived.load() < pieces.firsts.size())
    std::this_thread::yield();
}

TEST_P(ThreadPoolTest, EachThreadBeginsWithItsOwnPartOfEveryJob) {
  const uint32_t threads = pool_->threads();
  pool_->enterStep();
  for (int job = 0; job < 10 && threads <= 16; ++job) {
    FirstPieces pieces{std::vector<std::atomic<int64_t>>(threads), 0};
    for (auto &first : pieces.firsts)
      first = -1;
    pool_->run(10 * threads, meetAll, &pieces);
    for (uint32_t thread = 0; thread < threads && threads > 1; ++thread)
      EXPECT_EQ(pieces.firsts[thread].load(), 10 * thread) << "of " << threads;
  }
  pool_->leaveStep();
}

// The points of one thread's first piece wait for those of all other pieces.
struct HeldUp {
  int64_t count;
  std::atomic<int64_t> done = 0, largest = 0;
  std::atomic<bool> holds = false;
};

void holdUpOne(void *context, uint32_t thread, int64_t first, int64_t last) {
  auto &job = *static_cast<HeldUp *>(context);
  for (int64_t most = job.largest; most < last - first;)
    if (job.largest.compare_exchange_weak(most, last - first))
      break;
  if (thread == 1 && !job.holds.exchange(true))
    while (job.done.load() < job.count - (last - first))
      std::this_thread::yield();
  job.done += last - first;
}

TEST_P(ThreadPoolTest, WhatAThreadThatIsHeldUpHasLeftIsDoneByOthers) {
  const int64_t threads = pool_->threads();
  HeldUp job{100 * threads};
  pool_->run(job.count, holdUpOne, &job);
  EXPECT_EQ(job.done.load(), job.count);
  if (threads > 1)
    EXPECT_LE(job.largest.load(), 100 / 2);
}

// The nodes' processors need not exist: a binding that is refused changes no result.
TEST_P(ThreadPoolTest, CoversEveryIndexOnceOnSeveralNodes) {
  auto pool = ThreadPool::create(GetParam(), {{0}, {1, 2}, {3}});
  ASSERT_TRUE(pool.has_value()) << pool.error().toString();
  for (int64_t count : {1, 2, 3, 7, 100, 1009})
    expectCovered(**pool, count);
}

TEST_P(ThreadPoolTest, ThreadsThatWentToSleepWithinAStepWorkAgain) {
  pool_->enterStep();
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // longer than any patience
    expectCovered(*pool_, 40);
  }
  pool_->leaveStep();
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 3, 8, 33));

TEST(WorkShare, PiecesShrinkToSingleUnitsAndCoverTheRangeOnce) {
  WorkShare share;
  share.open(1, 10, 110);
  uint32_t next = 10, before = 100;
  for (uint64_t seen = share.look();;) {
    const WorkShare::Piece piece = WorkShare::pieceOf(seen, 2);
    if (piece.empty())
      break;
    EXPECT_EQ(piece.first, next);
    EXPECT_LE(piece.units(), before);
    ASSERT_TRUE(share.take(seen, piece));
    next = piece.last;
    before = piece.units();
    seen = share.look();
  }
  EXPECT_EQ(next, 110u);
  EXPECT_EQ(before, 1u);
}

TEST(WorkShare, WhatWasSeenOfAnotherGenerationIsNotTaken) {
  WorkShare share;
  share.open(1, 0, 8);
  uint64_t seen = share.look();
  const WorkShare::Piece piece = WorkShare::pieceOf(seen, 1);
  share.open(2, 0, 8);
  EXPECT_FALSE(share.take(seen, piece));
  EXPECT_EQ(seen, share.look()) << "the caller now knows what there is";
  EXPECT_TRUE(share.take(seen, WorkShare::pieceOf(seen, 1)));
}

TEST(WorkShare, HoldsTheMostUnits) {
  WorkShare share;
  share.open(UINT32_MAX, 0, WorkShare::kMostUnits);
  EXPECT_EQ(WorkShare::pieceOf(share.look(), 1).last, WorkShare::kMostUnits / 2);
}

uint32_t spinsOf(Patience &patience) {
  uint32_t spins = 0;
  while (patience.spin())
    ++spins;
  return spins;
}

TEST(Patience, FallsWithWaitsThatEndAsleepAndRisesWithOthers) {
  Patience patience;
  const uint32_t most = spinsOf(patience);
  for (int wait = 0; wait < 20; ++wait)
    patience.endedAsleep();
  const uint32_t least = spinsOf(patience);
  EXPECT_GT(least, 0u);
  EXPECT_LT(least, most / 8);
  for (int wait = 0; wait < 20; ++wait)
    patience.endedAwake();
  EXPECT_EQ(spinsOf(patience), most);
}

TEST(WaitWord, WhoSleepsIsWokenAndWhoSeesAChangeDoesNotSleep) {
  WaitWord word;
  word.sleepWhile(1); // it is 0
  std::thread sleeper([&] {
    while (word.load() == 0)
      word.sleepWhile(0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(word.add(2), 0u);
  word.wake(1);
  sleeper.join();
  EXPECT_EQ(word.load(), 2u);
}

} // namespace
} // namespace sinter::hal
