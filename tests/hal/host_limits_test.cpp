// What the process may use: control group files of both versions, processors, memory.
#include "hal/cgroup.h"
#include "hal/cpu/cpu_driver.h"
#include "hal/cpu/host_cpu.h"
#include "hal/host_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace sinter::hal {
namespace {

class CgroupTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-cgroup-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string &path, const std::string &text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  CgroupLimits limits() { return cgroupLimits(root_); }

  std::string root_;
};

TEST_F(CgroupTest, NothingReadableIsNoLimit) {
  EXPECT_FALSE(limits().cpus.has_value());
  EXPECT_FALSE(limits().memoryBytes.has_value());
}

TEST_F(CgroupTest, VersionTwoLimitsAreRead) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/a/b/memory.max", "1048576\n");
  EXPECT_EQ(limits().cpus, 1.5);
  EXPECT_EQ(limits().memoryBytes, 1048576u);
}

TEST_F(CgroupTest, TheTightestLimitOfTheGroupsAboveHolds) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(limits().cpus, 2.0);
}

TEST_F(CgroupTest, MaxIsNoLimit) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_FALSE(limits().cpus.has_value());
  EXPECT_FALSE(limits().memoryBytes.has_value());
}

TEST_F(CgroupTest, VersionOneLimitsAreRead) {
  put("proc/self/cgroup", "4:memory:/job\n2:cpu,cpuacct:/job\n1:name=systemd:/\n");
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2097152\n");
  EXPECT_EQ(limits().cpus, 3.0);
  EXPECT_EQ(limits().memoryBytes, 2097152u);
}

TEST_F(CgroupTest, LimitsOfNestedGroupsOfVersionOneAreRead) {
  put("proc/self/cgroup", "1:cpu,cpuacct:/pod/job\n");
  put("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us", "150000\n");
  put("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu,cpuacct/pod/job/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu,cpuacct/pod/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limits().cpus, 1.5);
}

TEST_F(CgroupTest, ControllersMountedUnderAnotherNameAreFound) {
  put("proc/self/cgroup", "1:cpuacct,cpu:/job\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limits().cpus, 2.0);
}

TEST_F(CgroupTest, VersionTwoBesideVersionOneIsFound) {
  put("proc/self/cgroup", "1:cpu:/\n0::/job\n");
  put("sys/fs/cgroup/unified/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(limits().cpus, 0.5);
}

TEST_F(CgroupTest, GroupsWithBlanksInTheirNamesAreRead) {
  put("proc/self/cgroup", "0::/my group/a\n");
  put("sys/fs/cgroup/my group/cpu.max", "300000 100000\n");
  EXPECT_EQ(limits().cpus, 3.0);
}

TEST_F(CgroupTest, NonsenseIsNoLimit) {
  put("proc/self/cgroup", "0::/a\nrubbish\n:\n5:cpu\n0::/../../etc\n");
  put("sys/fs/cgroup/a/cpu.max", "-1 0\n");
  put("sys/fs/cgroup/a/memory.max", "99999999999999999999999999\n");
  EXPECT_FALSE(limits().cpus.has_value());
  EXPECT_FALSE(limits().memoryBytes.has_value());
}

TEST(HostCpu, UsesNoMoreProcessorsThanTheAffinityMaskAllows) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before))
      CPU_SET(i, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usableCpus(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(usableCpus(), static_cast<uint32_t>(CPU_COUNT(&before)));
}

TEST(HostCpu, RunsCodeForItsOwnTarget) {
  EXPECT_TRUE(checkTarget(hostTarget()).has_value()) << hostTarget();
}

TEST(HostCpu, FindsTheFeaturesThatTheSystemLists) {
  std::ifstream in("/proc/cpuinfo");
  const std::string info((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto features = hostFeatures();
  for (auto [ours, systems] : {std::pair("avx2", " avx2 "), std::pair("avx512f", " avx512f "),
                               std::pair("avx512vnni", " avx512_vnni "), std::pair("fma", " fma "),
                               std::pair("avxvnni", " avx_vnni ")})
    EXPECT_EQ(std::find(features.begin(), features.end(), ours) != features.end(),
              info.find(systems) != std::string::npos)
        << ours;
}

TEST(HostCpu, MeasuresTheArithmeticThatKernelsUseAndNoOther) {
  DriverRegistry registry;
  ASSERT_TRUE(addCpuDriver(registry).has_value());
  const auto device = registry.find("cpu").value()->open(0, {.threads = 2});
  ASSERT_TRUE(device.has_value());
  for (const Arithmetic arithmetic : {Arithmetic::F32, Arithmetic::I8}) {
    const auto rate = (*device)->peakRate(arithmetic);
    ASSERT_TRUE(rate.has_value()) << rate.error().toString();
    EXPECT_GT(rate->operationsPerSecond, 0);
    EXPECT_NE(rate->source.find(" on 2 threads"), std::string::npos) << rate->source;
  }
  const auto none = (*device)->peakRate(Arithmetic::F16);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message, "kernels have no products of f16 on this processor");
}

TEST(HostMemory, LargeMemoryLiesOnHugePages) {
  constexpr uint64_t kHuge = uint64_t(2) << 20;
  auto memory = HostMemory::allocate(3 * kHuge + 1);
  ASSERT_TRUE(memory.has_value()) << memory.error().toString();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % kHuge, 0u);
  memory->data()[3 * kHuge] = 1;
}

// Resident pages of a stretch of memory.
size_t residentPages(uint8_t *data, size_t pages) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(pages);
  EXPECT_EQ(mincore(data, pages * page, resident.data()), 0);
  return static_cast<size_t>(
      std::ranges::count_if(resident, [](unsigned char flags) { return flags & 1; }));
}

TEST(HostMemory, WhatNobodyWritesTakesNoMemory) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kPages = 16;
  auto memory = HostMemory::allocate(kPages * page);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ(residentPages(memory->data(), kPages), 0u);
  memory->data()[3 * page] = 1;
  EXPECT_EQ(residentPages(memory->data(), kPages), 1u);
  EXPECT_EQ(memory->data()[4 * page], 0);
}

TEST(HostMemory, APartOfAHugePageAtTheEndTakesWhatIsWritten) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kHuge = size_t{2} << 20;
  auto memory = HostMemory::allocate(kHuge + 8 * page);
  ASSERT_TRUE(memory) << memory.error().message;
  memory->data()[kHuge] = 1;
  EXPECT_EQ(residentPages(memory->data() + kHuge, 8), 1u);
}

TEST(HostMemory, AMoveKeepsTheBytes) {
  auto memory = HostMemory::allocate(100);
  ASSERT_TRUE(memory.has_value());
  uint8_t *data = memory->data();
  HostMemory moved = std::move(*memory);
  EXPECT_EQ(moved.data(), data);
}

TEST(HostMemory, TheProcessMayUseSomeMemory) {
  EXPECT_GT(usableMemoryBytes(), uint64_t(1) << 20);
}

} // namespace
} // namespace sinter::hal
