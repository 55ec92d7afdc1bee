// Files of packed weights: written once, checked byte for byte when they are mapped, bounded.
#include "runtime/weight_cache.h"

#include "hal/cpu/cpu_driver.h"
#include "runtime/executor.h"
#include "runtime/plan_cache.h"
#include "runtime/vector_plan.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace sinter::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kBytes = (uint64_t(9) << 20) + 77; // some pieces and a part of one

class WeightCacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-weights-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_TRUE(hal::addCpuDriver(registry_).has_value());
    auto device = registry_.find("cpu").value()->open(0, {2});
    ASSERT_TRUE(device.has_value()) << device.error().toString();
    device_ = std::move(*device);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string keyOf(std::string_view text) { return planKey({&text, 1}); }
  std::string pathOf(std::string_view text) const {
    return folder_ + "/" + keyOf(text) + ".weights";
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &file : std::filesystem::directory_iterator(folder_))
      names.push_back(file.path());
    std::ranges::sort(names);
    return names;
  }
  WeightCache cache(uint64_t most = kMostKeptBytes) {
    return WeightCache(folder_, [this](const std::string &line) { notes_.push_back(line); }, most);
  }
  static std::vector<uint8_t> contents(uint64_t bytes, uint8_t seed) {
    std::vector<uint8_t> run(bytes);
    for (size_t i = 0; i < run.size(); ++i)
      run[i] = static_cast<uint8_t>(i * 31 + i / 4096 + seed);
    return run;
  }
  // Written in two parts, and counted.
  WeightCache::Fill filling(const std::vector<uint8_t> &run) {
    return [&](const WeightCache::Write &write) -> Result<void> {
      ++fills_;
      const uint64_t half = run.size() / 2;
      SINTER_TRY(write(std::span(run).first(half), 0));
      return write(std::span(run).subspan(half), half);
    };
  }
  std::optional<KeptWeights> get(const WeightCache &cache, std::string_view text, uint64_t bytes,
                                 uint8_t seed = 1) {
    const std::vector<uint8_t> run = contents(bytes, seed);
    auto kept = cache.findOrFill(keyOf(text), bytes, *device_, filling(run));
    if (kept) {
      EXPECT_TRUE(std::ranges::equal(kept->bytes(), run)) << text;
    }
    return kept;
  }
  static void setUsed(const std::string &path, int64_t secondsAgo) {
    const timespec time{::time(nullptr) - secondsAgo, 0};
    const timespec times[] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  std::string folder_;
  hal::DriverRegistry registry_;
  std::unique_ptr<hal::Device> device_;
  std::vector<std::string> notes_;
  int fills_ = 0;
};

TEST_F(WeightCacheTest, RunIsWrittenOnceForTheUserAloneAndFoundFromThenOn) {
  for (const uint64_t bytes : {uint64_t(1), uint64_t(4096), uint64_t(4) << 20, kBytes}) {
    const std::string name = std::to_string(bytes);
    fills_ = 0;
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(get(cache(), name, bytes)) << bytes;
    EXPECT_EQ(fills_, 1);
    struct stat info;
    ASSERT_EQ(stat(pathOf(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
  }
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(WeightCacheTest, WhatIsNotWrittenBetweenPartsIsZero) {
  const std::vector<uint8_t> part = contents(5, 1);
  const uint64_t far = (uint64_t(4) << 20) + 3;
  const auto kept = cache().findOrFill(keyOf("gap"), far + 5, *device_,
                                       [&](const WeightCache::Write &write) -> Result<void> {
                                         SINTER_TRY(write(part, 0));
                                         return write(part, far);
                                       });
  ASSERT_TRUE(kept);
  std::vector<uint8_t> expected(far + 5);
  std::ranges::copy(part, expected.begin());
  std::ranges::copy(part, expected.begin() + static_cast<int64_t>(far));
  EXPECT_TRUE(std::ranges::equal(kept->bytes(), expected));
}

TEST_F(WeightCacheTest, EveryDamagedByteIsFoundAndTheFileWrittenAgain) {
  ASSERT_TRUE(get(cache(), "w", kBytes));
  const auto size = std::filesystem::file_size(pathOf("w"));
  for (const uint64_t at : {uint64_t(0), uint64_t(9), uint64_t(44), uint64_t(60), uint64_t(4000),
                            uint64_t(4096), uint64_t(5) << 20, size - 1}) {
    std::fstream file(pathOf("w"), std::ios::in | std::ios::out | std::ios::binary);
    char byte = 0;
    file.seekg(static_cast<int64_t>(at)).read(&byte, 1);
    byte = static_cast<char>(byte ^ 16);
    file.seekp(static_cast<int64_t>(at)).write(&byte, 1);
    file.close();
    fills_ = 0;
    notes_.clear();
    EXPECT_TRUE(get(cache(), "w", kBytes));
    EXPECT_EQ(fills_, 1) << at;
    EXPECT_THAT(notes_, ElementsAre(HasSubstr("are damaged and are written again"))) << at;
  }
}

TEST_F(WeightCacheTest, FileOfAnotherSizeOrRunIsWrittenAgain) {
  ASSERT_TRUE(get(cache(), "other", kBytes, 9));
  for (const int64_t bytes : {int64_t(0), int64_t(1), int64_t(4096), int64_t(1) << 30}) {
    ASSERT_TRUE(get(cache(), "w", kBytes));
    std::filesystem::resize_file(pathOf("w"), static_cast<uint64_t>(bytes));
    fills_ = 0;
    EXPECT_TRUE(get(cache(), "w", kBytes));
    EXPECT_EQ(fills_, 1) << bytes;
  }
  std::filesystem::rename(pathOf("other"), pathOf("w"));
  EXPECT_TRUE(get(cache(), "w", kBytes));
  EXPECT_EQ(notes_.size(), 5u);
}

TEST_F(WeightCacheTest, WhatCannotBeFilledIsNotedAndLeavesNothing) {
  const auto kept =
      cache().findOrFill(keyOf("w"), kBytes, *device_, [](const WeightCache::Write &write) {
        EXPECT_TRUE(write(std::vector<uint8_t>(100), 0));
        return Result<void>(fail(Code::Corrupt, "the rows are odd"));
      });
  EXPECT_FALSE(kept);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("are not kept: the rows are odd")));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(WeightCacheTest, FolderThatIsGoneOrHoldsSomethingElseUnderTheNameIsNoted) {
  std::filesystem::create_directory(pathOf("w"));
  EXPECT_FALSE(get(cache(), "w", kBytes));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("is a directory")));
  std::filesystem::remove_all(folder_);
  EXPECT_FALSE(get(cache(), "w", kBytes));
  EXPECT_THAT(notes_.back(), HasSubstr("packed weights are not kept"));
}

TEST_F(WeightCacheTest, LeastLatelyUsedGoWhenAllTogetherAreTooMany) {
  const uint64_t most = 2 * kBytes + (1 << 20);
  ASSERT_TRUE(get(cache(most), "a", kBytes));
  ASSERT_TRUE(get(cache(most), "b", kBytes));
  setUsed(pathOf("a"), 1000);
  setUsed(pathOf("b"), 2000);
  ASSERT_TRUE(get(cache(most), "b", kBytes)); // used now
  const auto mapped = get(cache(most), "a", kBytes);
  setUsed(pathOf("a"), 1000);
  ASSERT_TRUE(get(cache(most), "c", kBytes));
  std::vector<std::string> left = {pathOf("b"), pathOf("c")};
  std::ranges::sort(left);
  EXPECT_EQ(files(), left);
  EXPECT_TRUE(std::ranges::equal(mapped->bytes(), contents(kBytes, 1))); // whoever has it keeps it
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(WeightCacheTest, FilesAreNoMoreThanPlansMayBe) {
  for (size_t i = 0; i < kMostKeptFiles + 5; ++i)
    ASSERT_TRUE(get(cache(), std::to_string(i), 100));
  EXPECT_EQ(files().size(), kMostKeptFiles);
  EXPECT_TRUE(std::filesystem::exists(pathOf(std::to_string(kMostKeptFiles + 4))));
}

TEST_F(WeightCacheTest, MoreThanMayBeKeptIsRefusedWithTheNumbers) {
  ASSERT_TRUE(get(cache(), "a", kBytes));
  EXPECT_FALSE(get(cache(kBytes), "b", kBytes + 1));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("at most " + std::to_string(kBytes) + " are kept in")));
  EXPECT_THAT(files(), ElementsAre(pathOf("a"))); // nothing was removed for nothing
}

TEST_F(WeightCacheTest, WhatAKilledProcessLeftGoesAfterAWhile) {
  const std::string old = pathOf("x") + ".part-1", young = pathOf("x") + ".part-2";
  std::ofstream(old) << "x";
  std::ofstream(young) << "x";
  setUsed(old, 7200);
  ASSERT_TRUE(get(cache(), "w", kBytes));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(young));
}

TEST_F(WeightCacheTest, ThreadsThatWriteTheSameAllHaveIt) {
  const WeightCache shared(folder_, [](const std::string &line) { ADD_FAILURE() << line; });
  const std::vector<uint8_t> run = contents(kBytes, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      auto device = registry_.find("cpu").value()->open(0, {1});
      const auto kept =
          shared.findOrFill(keyOf("w"), kBytes, **device,
                            [&](const WeightCache::Write &write) { return write(run, 0); });
      EXPECT_TRUE(kept && std::ranges::equal(kept->bytes(), run)) << i;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(files(), ElementsAre(pathOf("w")));
}

// A plan whose one weight is small enough to be copied.
class KeptPlanTest : public WeightCacheTest {
protected:
  std::vector<float> run(const std::string &identity, float first) {
    std::vector<float> weight(kMaxN);
    std::iota(weight.begin(), weight.end(), first);
    MapSource source;
    source.tensors["w"] = bytesOf(weight);
    source.name = identity;
    const WeightCache kept = cache();
    ExecutorOptions options;
    options.weightCache = &kept;
    auto executor = Executor::create(*device_, std::make_shared<const plan::Plan>(vectorPlan()),
                                     &source, options);
    EXPECT_TRUE(executor) << executor.error().toString();
    EXPECT_EQ((*executor)->memory().weights, kMaxN * sizeof(float));
    kept_ = (*executor)->memory().kept;
    EXPECT_TRUE((*executor)->bind(std::vector<int64_t>{2, 0}));
    EXPECT_TRUE((*executor)->setBuffer("x", bytesOf({0, 0})));
    EXPECT_TRUE((*executor)->run("step"));
    return floatsOf((*executor)->buffer("y").value());
  }

  uint64_t kept_ = 0;
};

TEST_F(KeptPlanTest, WeightsComeFromTheFileAsLongAsTheSourceIsTheSame) {
  EXPECT_THAT(run("file 1", 5), ElementsAre(15, 18));
  EXPECT_EQ(kept_, kMaxN * sizeof(float));
  EXPECT_EQ(files().size(), 1u);
  EXPECT_THAT(run("file 1", 70), ElementsAre(15, 18)) << "they were packed again";
  EXPECT_THAT(run("file 2", 70), ElementsAre(210, 213));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(KeptPlanTest, SourceWithoutIdentityIsPackedIntoMemory) {
  EXPECT_THAT(run("", 5), ElementsAre(15, 18));
  EXPECT_THAT(run("", 70), ElementsAre(210, 213));
  EXPECT_EQ(kept_, 0u);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(KeptPlanTest, PlanWithoutWeightsNeedsNoSource) {
  plan::Plan plan = vectorPlan();
  plan.buffers[kW.index].kind = plan::BufferKind::Constant;
  plan.buffers[kW.index].tensors.clear();
  plan.buffers[kW.index].data.resize(kMaxN * sizeof(float));
  const WeightCache kept = cache();
  ExecutorOptions options;
  options.weightCache = &kept;
  auto executor = Executor::create(*device_, std::make_shared<const plan::Plan>(std::move(plan)),
                                   nullptr, options);
  EXPECT_TRUE(executor) << executor.error().toString();
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(KeptPlanTest, WithoutRoomWeightsArePackedIntoMemory) {
  std::filesystem::remove_all(folder_);
  EXPECT_THAT(run("file 1", 5), ElementsAre(15, 18));
  EXPECT_EQ(kept_, 0u);
  EXPECT_EQ(notes_.size(), 1u);
}

} // namespace
} // namespace sinter::runtime
