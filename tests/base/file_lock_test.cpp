// Locks whose files go when they are released: one holder at a time all the same.
#include "base/file_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

namespace sinter {
namespace {

class FileLockTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sinter-lock-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/a.lock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Result<FileLock> take(uint32_t timeoutMs) const {
    return FileLock::take(AT_FDCWD, path_, "lock file", "another process holds it", timeoutMs);
  }

  std::string folder_, path_;
};

TEST_F(FileLockTest, RemovesItsFileWhenReleasedAndNotBefore) {
  {
    auto lock = take(0);
    ASSERT_TRUE(lock.has_value());
    const FileLock moved = std::move(*lock);
    EXPECT_TRUE(std::filesystem::exists(path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FileLockTest, HeldLockTimesOutAndItsFileStays) {
  const auto lock = take(0);
  ASSERT_TRUE(lock.has_value());
  EXPECT_EQ(take(1).error().message, "another process holds it for 1 ms");
  FileLock::removeIfFree(AT_FDCWD, path_);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(FileLockTest, FreeFileCanBeRemovedAndAMissingOneIsNotMade) {
  FileLock::removeIfFree(AT_FDCWD, path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
  std::ofstream(path_) << "";
  FileLock::removeIfFree(AT_FDCWD, path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FileLockTest, WhoWaitedForAFileThatIsGoneWaitsForTheNewOne) {
  bool told = false;
  for (int attempt = 0; attempt < 10 && !told; ++attempt) {
    std::optional<FileLock> first = std::move(*take(0));
    std::optional<Result<FileLock>> waited;
    std::thread waiter([&] { waited = take(100); });
    std::this_thread::sleep_for(std::chrono::milliseconds(30)); // it has opened the first file
    first.reset();
    const auto second = take(0);
    waiter.join();
    if (!second) // the waiter was quicker
      continue;
    told = true;
    EXPECT_FALSE(waited->has_value()) << "two hold the lock";
  }
  EXPECT_TRUE(told);
}

TEST_F(FileLockTest, OfThreadsThatTakeReleaseAndSweepOneHoldsItAtATime) {
  constexpr int kThreads = 4, kRounds = 300;
  std::atomic<int> holders = 0, together = 0, taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        FileLock::removeIfFree(AT_FDCWD, path_);
        const auto lock = take(0);
        if (!lock)
          continue;
        together += holders++ != 0;
        ++taken;
        std::this_thread::yield();
        --holders;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(together, 0);
  EXPECT_GT(taken, 0);
}

} // namespace
} // namespace sinter
