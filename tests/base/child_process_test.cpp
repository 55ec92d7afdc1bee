// Children: how they end is told, limits hold, and none is left behind.
#include "base/child_process.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sinter {
namespace {

Result<ChildEnd> shell(const std::string &script, const ChildLimits &limits = {},
                       uint32_t timeoutMs = 60'000) {
  const std::string arguments[] = {"-c", script};
  return runChildProcess("/bin/sh", arguments, {}, limits, timeoutMs);
}

TEST(ChildProcess, TellsTheCodeOrTheSignalOfItsEnd) {
  auto end = shell("exit 7");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 7);
  EXPECT_EQ(end->signal, 0);
  end = shell("kill -SEGV $$");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGSEGV);
  EXPECT_FALSE(end->good());
  EXPECT_EQ(signalText(SIGSEGV), "signal 11 (SIGSEGV)");
}

TEST(ChildProcess, IsStoppedAtItsTimeoutWithWhatItStarted) {
  const std::string file = ::testing::TempDir() + "sinter-child-" + std::to_string(getpid());
  auto end = shell("sleep 100 & echo $! > '" + file + "'; wait", {}, 400);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::Timeout);
  // Killed children of a killed one are waited for by others: gone, or a zombie for a moment.
  auto gone = shell("for i in 1 2 3 4 5 6 7 8 9; do grep -qs '^State:.[RSD]' /proc/$(cat '" + file +
                    "')/status || exit 0; sleep 0.2; done; exit 1");
  std::filesystem::remove(file);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->code, 0);
}

TEST(ChildProcess, ThatEndsLeavesNothingBehind) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const std::string arguments[] = {"-c", "sleep 100 & exit 0"};
  const int files[] = {pipes[1]};
  const auto end = runChildProcess("/bin/sh", arguments, files, {}, 10'000);
  close(pipes[1]);
  ASSERT_TRUE(end && end->good());
  char byte;
  EXPECT_EQ(read(pipes[0], &byte, 1), 0); // nobody holds the other end any more
  close(pipes[0]);
}

TEST(ChildProcess, IsHeldToTheSizeOfFiles) {
  const std::string file = ::testing::TempDir() + "sinter-child-" + std::to_string(getpid());
  auto end = shell("sleep 0.3; head -c 100000 /dev/zero > '" + file + "'", {.fileBytes = 4096});
  const auto size = std::filesystem::file_size(file);
  std::filesystem::remove(file);
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->good());
  EXPECT_EQ(size, 4096u);
}

TEST(ChildProcess, ThatCannotBeStartedIsNamed) {
  auto end = runChildProcess("/nowhere/at/all", {}, {}, {}, 1000);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::NotFound);
  EXPECT_EQ(end.error().message, "cannot start '/nowhere/at/all': No such file or directory");
}

} // namespace
} // namespace sinter
