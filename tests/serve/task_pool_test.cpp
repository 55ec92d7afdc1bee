// Tasks: all that were taken run, no more wait than may, and draining waits for them.
#include "serve/worker/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace sinter::serve {
namespace {

TEST(TaskPool, RunsWhatWaitsBeforeItEnds) {
  std::atomic<int> ran = 0;
  {
    TaskPool pool(2, 100);
    for (int i = 0; i < 50; ++i)
      EXPECT_TRUE(pool.post([&] { ++ran; }));
  }
  EXPECT_EQ(ran, 50);
}

TEST(TaskPool, RefusesMoreThanMayWaitButNotWhatMustHappen) {
  std::promise<void> begun, gate;
  std::atomic<int> ran = 0;
  TaskPool pool(1, 2);
  EXPECT_TRUE(pool.post([&] {
    begun.set_value();
    gate.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_TRUE(pool.post([&] { ++ran; }));
  EXPECT_TRUE(pool.post([&] { ++ran; }));
  EXPECT_FALSE(pool.post([&] { ++ran; }));
  pool.postAlways([&] { ++ran; });
  gate.set_value();
  pool.drain();
  EXPECT_EQ(ran, 3);
}

TEST(TaskPool, DrainingWaitsForTasksThatTasksPost) {
  std::atomic<int> ran = 0;
  TaskPool pool(2, 10);
  pool.postAlways([&] { pool.postAlways([&] { pool.postAlways([&] { ++ran; }); }); });
  pool.drain();
  EXPECT_EQ(ran, 1);
}

} // namespace
} // namespace sinter::serve
