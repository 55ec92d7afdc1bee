// The plan cache: private folders, whole entries, one builder at a time, damage that is told and
// repaired.
#include "runtime/plan_cache.h"

#include "plan/file.h"
#include "plan/sample_plan.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sinter::runtime {
namespace {

constexpr uint32_t kLong = 60000; // a time-out that no test reaches

class PlanCacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-cache-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ + "/a/sinter";
    const std::string_view parts[] = {"model", "target"};
    key_ = planKey(parts);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  PlanCache open() {
    auto cache = PlanCache::openAt(folder_);
    EXPECT_TRUE(cache.has_value()) << (cache ? "" : cache.error().toString());
    return std::move(cache).value();
  }
  std::string entry() const { return folder_ + "/" + key_ + ".plan"; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &file : std::filesystem::directory_iterator(folder_))
      names.push_back(file.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // Finds or builds the sample plan; counts builds and keeps the notes.
  Result<plan::Plan> findOrBuild(const PlanCache &cache) {
    return findOrBuild(cache, {{key_}});
  }
  Result<plan::Plan> findOrBuild(const PlanCache &cache, const CacheQuery &query) {
    return cache.findOrBuild(
        query, kLong,
        [&]() -> Result<plan::Plan> {
          ++builds_;
          return plan::samplePlan();
        },
        [&](const std::string &line) { notes_.push_back(line); });
  }
  // Runs `body` in a child process; its exit status.
  template <typename Body> static pid_t inChild(Body body) {
    const pid_t child = fork();
    if (child == 0)
      _exit(body() ? 0 : 1);
    return child;
  }
  static bool succeeded(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  std::string root_, folder_, key_;
  int builds_ = 0;
  std::vector<std::string> notes_;
};

TEST_F(PlanCacheTest, WhatWasPublishedIsFound) {
  const PlanCache cache = open();
  ASSERT_TRUE(cache.publish(key_, plan::samplePlan()).has_value());
  EXPECT_EQ(cache.find(key_).value().plan, plan::samplePlan());
  EXPECT_EQ(files(), (std::vector<std::string>{key_ + ".plan"}));
}

TEST_F(PlanCacheTest, WhatIsNotThereIsNeitherFoundNorDamaged) {
  const CacheLookup found = open().find(key_).value();
  EXPECT_FALSE(found.plan.has_value());
  EXPECT_EQ(found.damage, "");
}

TEST_F(PlanCacheTest, ASecondPublishReplacesTheFirst) {
  const PlanCache cache = open();
  ASSERT_TRUE(cache.publish(key_, plan::Plan{}).has_value());
  ASSERT_TRUE(cache.publish(key_, plan::samplePlan()).has_value());
  EXPECT_EQ(cache.find(key_).value().plan, plan::samplePlan());
}

TEST_F(PlanCacheTest, ThePlanThatWasUsedLeastLatelyMakesRoom) {
  const PlanCache cache = open();
  std::vector<std::string> keys;
  for (size_t i = 0; i <= kMostPlans; ++i) {
    const std::string number = std::to_string(i);
    const std::string_view parts[] = {"model", number};
    keys.push_back(planKey(parts));
    ASSERT_TRUE(cache.publish(keys.back(), plan::samplePlan()).has_value());
    // Times of files are coarse: the i-th was written i seconds after the first.
    const timespec times[2] = {{1000 + int64_t(i), 0}, {1000 + int64_t(i), 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder_ + "/" + keys.back() + ".plan").c_str(), times, 0), 0);
    if (i == 1)
      ASSERT_TRUE(cache.find(keys[0]).value().plan.has_value()); // used now
  }
  ASSERT_TRUE(cache.publish(key_, plan::samplePlan()).has_value());
  EXPECT_EQ(files().size(), kMostPlans);
  EXPECT_TRUE(cache.find(keys[0]).value().plan.has_value());
  EXPECT_FALSE(cache.find(keys[1]).value().plan.has_value());
  EXPECT_TRUE(cache.find(keys.back()).value().plan.has_value());
}

TEST_F(PlanCacheTest, APlanIsBuiltOnceAndThenFound) {
  const PlanCache cache = open();
  EXPECT_EQ(findOrBuild(cache).value(), plan::samplePlan());
  EXPECT_EQ(findOrBuild(cache).value(), plan::samplePlan());
  EXPECT_EQ(builds_, 1);
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(files(), (std::vector<std::string>{key_ + ".plan"}));
}

TEST_F(PlanCacheTest, AFailedBuildLeavesNothingAndIsTriedAgain) {
  const PlanCache cache = open();
  auto failed = cache.findOrBuild(
      {{key_}}, kLong, []() -> Result<plan::Plan> { return fail(Code::Unsupported, "no such op"); },
      [](const std::string &) {});
  EXPECT_EQ(failed.error().message, "no such op");
  EXPECT_TRUE(findOrBuild(cache).has_value());
  EXPECT_EQ(builds_, 1);
}

TEST_F(PlanCacheTest, ADamagedEntryIsToldInOneLineAndBuiltAgain) {
  const PlanCache cache = open();
  ASSERT_TRUE(cache.publish(key_, plan::samplePlan()).has_value());
  std::fstream(entry(), std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('!');
  EXPECT_EQ(findOrBuild(cache).value(), plan::samplePlan());
  EXPECT_EQ(builds_, 1);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], ::testing::StartsWith("cached plan " + key_ + " is damaged"));
  EXPECT_THAT(notes_[0], ::testing::Not(::testing::HasSubstr("\n")));
  EXPECT_EQ(cache.find(key_).value().plan, plan::samplePlan());
}

TEST_F(PlanCacheTest, ATruncatedOrEmptyEntryIsDamaged) {
  const PlanCache cache = open();
  ASSERT_TRUE(cache.publish(key_, plan::samplePlan()).has_value());
  for (std::size_t size : {200, 20, 0}) {
    std::filesystem::resize_file(entry(), size);
    EXPECT_NE(cache.find(key_).value().damage, "") << size;
  }
}

TEST_F(PlanCacheTest, AFolderInAnEntrysPlaceIsDamageAndAPipeDoesNotHang) {
  const PlanCache cache = open();
  std::filesystem::create_directory(entry());
  EXPECT_NE(cache.find(key_).value().damage, "");
  std::filesystem::remove(entry());
  ASSERT_EQ(mkfifo(entry().c_str(), 0600), 0);
  EXPECT_NE(cache.find(key_).value().damage, "");
}

TEST_F(PlanCacheTest, AnEntryThatIsALinkOrThatOthersMayWriteToIsRefused) {
  const PlanCache cache = open();
  std::filesystem::create_symlink("/dev/null", entry());
  EXPECT_EQ(cache.find(key_).error().code, Code::Permission);
  std::filesystem::remove(entry());
  ASSERT_TRUE(cache.publish(key_, plan::samplePlan()).has_value());
  ASSERT_EQ(chmod(entry().c_str(), 0666), 0);
  EXPECT_EQ(cache.find(key_).error().code, Code::Permission);
}

TEST_F(PlanCacheTest, TheFolderIsMadeForTheUserAlone) {
  open();
  struct stat info;
  ASSERT_EQ(stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST_F(PlanCacheTest, AFolderThatOthersMayWriteToIsRefusedInOneSentence) {
  open();
  for (mode_t mode : {0777, 0770, 0702}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    auto cache = PlanCache::openAt(folder_);
    ASSERT_FALSE(cache.has_value());
    EXPECT_EQ(cache.error().code, Code::Permission);
    EXPECT_THAT(cache.error().message, ::testing::HasSubstr("may be written to by others"));
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_TRUE(PlanCache::openAt(folder_).has_value());
}

TEST_F(PlanCacheTest, AFolderOfAnotherUserIsRefused) {
  open();
  const uid_t other = geteuid() == 0 ? 65534 : 0;
  const std::string folder = geteuid() == 0 ? folder_ : "/";
  if (geteuid() == 0)
    ASSERT_EQ(chown(folder_.c_str(), other, 0), 0);
  auto cache = PlanCache::openAt(folder);
  ASSERT_FALSE(cache.has_value());
  EXPECT_EQ(cache.error().code, Code::Permission);
  EXPECT_THAT(cache.error().message,
              ::testing::HasSubstr("belongs to user " + std::to_string(other)));
}

TEST_F(PlanCacheTest, AFolderThatIsALinkOrAFileIsRefused) {
  open();
  const std::string link = root_ + "/link", file = root_ + "/file";
  std::filesystem::create_symlink(folder_, link);
  std::ofstream(file) << "x";
  EXPECT_FALSE(PlanCache::openAt(link).has_value());
  EXPECT_FALSE(PlanCache::openAt(file).has_value());
}

TEST_F(PlanCacheTest, TheUsersOwnFolderFollowsTheEnvironment) {
  const pid_t child = inChild([&] {
    setenv("XDG_CACHE_HOME", (root_ + "/xdg").c_str(), 1);
    setenv("HOME", root_.c_str(), 1);
    if (PlanCache::open().value().folder() != root_ + "/xdg/sinter")
      return false;
    setenv("XDG_CACHE_HOME", "relative", 1);
    if (PlanCache::open().value().folder() != root_ + "/.cache/sinter")
      return false;
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    return PlanCache::open().error().code == Code::NotFound;
  });
  EXPECT_TRUE(succeeded(child));
}

TEST_F(PlanCacheTest, AFullDiskIsAClearErrorAndLeavesNothingHalfWritten) {
  const PlanCache cache = open();
  ASSERT_TRUE(cache.publish(key_, plan::Plan{}).has_value());
  const pid_t child = inChild([&] {
    // A limit on file size stops the write in its middle, as a full disk does.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {300, 300};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto published = cache.publish(key_, plan::samplePlan());
    return !published && published.error().code == Code::Exhausted &&
           published.error().message.find("300 of ") != std::string::npos;
  });
  EXPECT_TRUE(succeeded(child));
  EXPECT_EQ(files(), (std::vector<std::string>{key_ + ".plan"}));
  EXPECT_EQ(cache.find(key_).value().plan, plan::Plan{});
}

TEST_F(PlanCacheTest, APlanThatCannotBeKeptIsUsedAllTheSameAndSaidSo) {
  const PlanCache cache = open();
  const pid_t child = inChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {300, 300};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto plan = findOrBuild(cache);
    return plan.has_value() && notes_.size() == 1;
  });
  EXPECT_TRUE(succeeded(child));
}

TEST_F(PlanCacheTest, OfManyProcessesThatAskOneBuilds) {
  const PlanCache cache = open();
  const std::string log = root_ + "/builds";
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i)
    children.push_back(inChild([&] {
      auto own = PlanCache::openAt(folder_);
      auto plan = own->findOrBuild(
          {{key_}}, kLong,
          [&]() -> Result<plan::Plan> {
            std::ofstream(log, std::ios::app) << 'b';
            usleep(100000);
            return plan::samplePlan();
          },
          [](const std::string &) {});
      return plan.has_value() && *plan == plan::samplePlan();
    }));
  for (pid_t child : children)
    EXPECT_TRUE(succeeded(child));
  EXPECT_EQ(std::filesystem::file_size(log), 1u);
}

TEST_F(PlanCacheTest, AHeldLockTimesOutWithASentence) {
  const PlanCache cache = open();
  auto held = cache.lock(key_, 0);
  ASSERT_TRUE(held.has_value());
  auto second = cache.lock(key_, 1);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message, "another process has been building plan " + key_ + " for 1 ms");
  EXPECT_EQ(second.error().code, Code::Timeout);
}

TEST_F(PlanCacheTest, ThatAnotherProcessBuildsIsSaidBeforeTheWait) {
  const PlanCache cache = open();
  auto held = cache.lock(key_, 0);
  ASSERT_TRUE(held.has_value());
  auto plan = cache.findOrBuild(
      {{key_}}, 1, []() -> Result<plan::Plan> { return plan::samplePlan(); },
      [&](const std::string &line) { notes_.push_back(line); });
  EXPECT_FALSE(plan.has_value());
  EXPECT_EQ(notes_,
            (std::vector<std::string>{"another process is building this plan: waiting for it"}));
}

TEST_F(PlanCacheTest, LocksOfTwoKeysAreApart) {
  const PlanCache cache = open();
  const std::string_view parts[] = {"other"};
  auto first = cache.lock(key_, 0), second = cache.lock(planKey(parts), 0);
  EXPECT_TRUE(first.has_value());
  EXPECT_TRUE(second.has_value());
}

TEST_F(PlanCacheTest, AKilledBuildersLockVanishesAndItsLeftoversAreCleared) {
  const PlanCache cache = open();
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t builder = inChild([&] {
    auto lock = cache.lock(key_, 0);
    std::ofstream(folder_ + "/" + key_ + ".tmp-0123") << "half";
    (void)!write(pipes[1], "x", 1);
    for (;;)
      pause();
    return lock.has_value();
  });
  char byte;
  ASSERT_EQ(read(pipes[0], &byte, 1), 1);
  EXPECT_EQ(cache.lock(key_, 0).error().code, Code::Timeout);
  kill(builder, SIGKILL);
  waitpid(builder, nullptr, 0);
  EXPECT_TRUE(cache.lock(key_, 0).has_value());
  EXPECT_TRUE(files().empty());
  close(pipes[0]);
  close(pipes[1]);
}

TEST_F(PlanCacheTest, LockFilesOfDeadBuildersOfOtherPlansGoAndHeldOnesStay) {
  const PlanCache cache = open();
  const std::string_view parts[] = {"held"};
  const std::string held = planKey(parts);
  auto lock = cache.lock(held, 0);
  ASSERT_TRUE(lock.has_value());
  std::ofstream(folder_ + "/0123.lock") << "";
  ASSERT_TRUE(cache.publish(key_, plan::samplePlan()).has_value());
  EXPECT_THAT(files(), ::testing::UnorderedElementsAre(key_ + ".plan", held + ".lock"));
  EXPECT_EQ(cache.lock(held, 0).error().code, Code::Timeout);
}

// ---- plans that must fit ----

bool hasKernels(const plan::Plan &plan) {
  return !plan.kernels.empty();
}

class PlanCacheQueryTest : public PlanCacheTest {
protected:
  void SetUp() override {
    PlanCacheTest::SetUp();
    const std::string_view parts[] = {"model", "target", "machine"};
    first_ = planKey(parts);
    ASSERT_TRUE(hasKernels(plan::samplePlan()));
  }
  CacheQuery query() const { return {{first_, key_}, hasKernels, {}}; }

  std::string first_;
};

TEST_F(PlanCacheQueryTest, APlanThatDoesNotFitIsReplaced) {
  const PlanCache cache = open();
  ASSERT_TRUE(cache.publish(first_, plan::Plan{}).has_value());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(findOrBuild(cache, query()).value(), plan::samplePlan());
  EXPECT_EQ(builds_, 1);
  EXPECT_EQ(cache.find(first_).value().plan, plan::samplePlan());
  EXPECT_THAT(notes_, ::testing::IsEmpty());
}

TEST_F(PlanCacheQueryTest, TheFirstPlanThatFitsIsTaken) {
  const PlanCache cache = open();
  ASSERT_TRUE(cache.publish(first_, plan::Plan{}).has_value());
  ASSERT_TRUE(cache.publish(key_, plan::samplePlan()).has_value());
  EXPECT_EQ(findOrBuild(cache, query()).value(), plan::samplePlan());
  EXPECT_EQ(builds_, 0);
}

TEST_F(PlanCacheQueryTest, ABuiltPlanIsKeptUnderTheKeyThatItTells) {
  const PlanCache cache = open();
  CacheQuery asked = query();
  asked.place = [](const plan::Plan &built) { return hasKernels(built) ? 1 : 0; };
  EXPECT_TRUE(findOrBuild(cache, asked).has_value());
  EXPECT_FALSE(cache.find(first_).value().plan.has_value());
  EXPECT_EQ(cache.find(key_).value().plan, plan::samplePlan());
}

TEST_F(PlanCacheQueryTest, BuildersOfAllKeysTakeTurnsAndClearWhatKilledOnesLeft) {
  const PlanCache cache = open();
  std::ofstream(folder_ + "/" + first_ + ".tmp-0123") << "half";
  {
    auto held = cache.lock(key_, 0);
    ASSERT_TRUE(held.has_value());
    auto plan = cache.findOrBuild(
        query(), 1, []() -> Result<plan::Plan> { return plan::samplePlan(); },
        [](const std::string &) {});
    EXPECT_EQ(plan.error().code, Code::Timeout);
  }
  EXPECT_TRUE(findOrBuild(cache, query()).has_value());
  EXPECT_THAT(files(), ::testing::ElementsAre(first_ + ".plan"));
}

TEST_F(PlanCacheQueryTest, ADamagedEntryIsToldWhereNoOtherFits) {
  const PlanCache cache = open();
  std::ofstream(folder_ + "/" + first_ + ".plan") << "no plan";
  EXPECT_TRUE(findOrBuild(cache, query()).has_value());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], ::testing::StartsWith("cached plan " + first_ + " is damaged"));
}

TEST(PlanKey, DependsOnEachPartAndOnWhereItEnds) {
  auto key = [](std::vector<std::string_view> parts) { return planKey(parts); };
  EXPECT_EQ(key({"a", "b"}), key({"a", "b"}));
  EXPECT_EQ(key({"a"}).size(), 32u);
  EXPECT_NE(key({"a", "b"}), key({"ab"}));
  EXPECT_NE(key({"a", "b"}), key({"ab", ""}));
  EXPECT_NE(key({"a", "b"}), key({"b", "a"}));
}

} // namespace
} // namespace sinter::runtime
