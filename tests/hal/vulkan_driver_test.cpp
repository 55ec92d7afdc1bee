// What the vulkan driver does beyond the conformance suite, on the first device there is.
#include "hal/vulkan_cases.h"

#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>
#include <limits>

namespace sinter::hal {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

template <typename T> T good(Result<T> result) {
  if (!result)
    ADD_FAILURE() << result.error().toString();
  return std::move(result).value();
}

void good(Result<void> result) {
  EXPECT_TRUE(result.has_value()) << result.error().toString();
}

template <typename T> Status statusOf(const Result<T> &result) {
  EXPECT_FALSE(result.has_value());
  return result ? Status{Code::Cancelled, "it succeeded"} : result.error();
}

class VulkanDriver : public ::testing::TestWithParam<Result<void> (*)(DriverRegistry &)> {
protected:
  void SetUp() override {
    good(GetParam()(registry_));
    driver_ = good(registry_.find("vulkan"));
    if (auto devices = driver_->devices(); !devices)
      GTEST_SKIP() << devices.error().toString();
    device_ = good(driver_->open(0, {}));
    stream_ = good(device_->createStream());
    module_ = good(device_->loadModule(kVulkanTestTarget, vulkanKernels()));
  }

  std::unique_ptr<Kernel> kernel(const char *symbol, uint32_t buffers, uint32_t scalars) {
    return good(module_->kernel({symbol, buffers, scalars, 0, kVulkanTestThreads}));
  }
  std::unique_ptr<Buffer> buffer(uint64_t bytes) { return good(device_->allocate(bytes)); }
  std::vector<uint8_t> read(const Buffer &from) {
    std::vector<uint8_t> bytes(from.bytes());
    good(stream_->read(from, 0, bytes));
    return bytes;
  }
  // Runs `symbol` on `grid` and says how many points it did not count once, in their places.
  std::size_t miscountsOn(const char *symbol, const Grid &grid, std::span<const int64_t> scalars) {
    const auto points = static_cast<std::size_t>(grid[0] * grid[1] * grid[2]);
    auto out = buffer(points * sizeof(int64_t));
    const BufferBinding bindings[] = {{out.get(), 0}};
    auto count = kernel(symbol, 1, static_cast<uint32_t>(scalars.size()));
    good(stream_->launch(*count, grid, bindings, scalars));
    std::vector<int64_t> found(points);
    const auto bytes = read(*out);
    std::memcpy(found.data(), bytes.data(), bytes.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < points; ++i)
      wrong += found[i] != static_cast<int64_t>(i) + 1;
    return wrong;
  }

  DriverRegistry registry_;
  Driver *driver_ = nullptr;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Module> module_;
};

TEST_P(VulkanDriver, AGridBeyondTheDevicesLimitRunsEachPointOnce) {
  for (const Grid &grid :
       {Grid{65536 + 3, 1, 1}, Grid{1, 65536 + 5, 1}, Grid{2, 1, 65536}, Grid{200001, 2, 1}})
    EXPECT_EQ(miscountsOn("count_points", grid, {{grid[0], grid[1]}}), 0u) << grid[0];
}

TEST_P(VulkanDriver, TheArgumentBlockHoldsTheExtentsOfTheWholeGrid) {
  for (const Grid &grid : {Grid{3, 5, 7}, Grid{65537, 2, 2}, Grid{2, 65537, 2}})
    EXPECT_EQ(miscountsOn("count_by_extents", grid, {}), 0u) << grid[0];
}

TEST_P(VulkanDriver, AGridOfTooManyDispatchesIsRefusedWithTheNumbers) {
  auto nothing = kernel("do_nothing", 0, 0);
  const Grid grid = {std::numeric_limits<int64_t>::max(), 1, 1};
  const Status status = statusOf(stream_->launch(*nothing, grid, {}, {}));
  EXPECT_EQ(status.code, Code::InvalidArgument);
  EXPECT_THAT(status.message, AllOf(HasSubstr("9223372036854775807 x 1 x 1"), HasSubstr("4096")));
}

TEST_P(VulkanDriver, MoreLaunchesThanTheRingHoldsFollowOneAnother) {
  constexpr int kLaunches = 64 * 8 * 2 + 5;
  auto out = buffer(8);
  auto count = kernel("count_points", 1, 2);
  const BufferBinding bindings[] = {{out.get(), 0}};
  for (int i = 0; i < kLaunches; ++i)
    good(stream_->launch(*count, {1, 1, 1}, bindings, {{1, 1}}));
  int64_t found = 0;
  good(stream_->read(*out, 0, {reinterpret_cast<uint8_t *>(&found), sizeof found}));
  EXPECT_EQ(found, kLaunches);
}

TEST_P(VulkanDriver, AGraphOfSeveralSubmissionsRunsAgainWithItsOwnArguments) {
  constexpr int kLaunches = 150;
  auto out = buffer(16);
  auto count = kernel("count_points", 1, 2);
  good(stream_->beginCapture());
  for (int i = 0; i < kLaunches; ++i) {
    const BufferBinding bindings[] = {{out.get(), 8}};
    good(stream_->launch(*count, {1, 1, 1}, bindings, {{1, 1}}));
  }
  good(stream_->copy(*out, 0, *out, 8, 8));
  auto graph = good(stream_->endCapture());
  EXPECT_THAT(read(*out), Each(0)) << "nothing runs while it is captured";
  good(stream_->submit(*graph));
  good(stream_->submit(*graph));
  good(stream_->fill(*out, 8, 8, 0));
  good(stream_->submit(*graph));
  int64_t found[2];
  good(stream_->read(*out, 0, {reinterpret_cast<uint8_t *>(found), sizeof found}));
  EXPECT_THAT(found, Each(kLaunches));
}

TEST_P(VulkanDriver, AGraphOutlivesTheStreamThatCapturedIt) {
  auto out = buffer(8);
  good(stream_->beginCapture());
  good(stream_->fill(*out, 0, 8, 5));
  auto graph = good(stream_->endCapture());
  stream_ = good(device_->createStream());
  good(stream_->submit(*graph));
  graph.reset();
  EXPECT_THAT(read(*out), Each(5));
}

TEST_P(VulkanDriver, FillsOfEveryAlignmentSetTheirBytesOnly) {
  auto memory = buffer(32);
  for (uint64_t offset = 0; offset < 8; ++offset)
    for (uint64_t bytes = 0; bytes < 13; ++bytes) {
      good(stream_->fill(*memory, 0, 32, 0xee));
      good(stream_->fill(*memory, offset, bytes, 0x5a));
      std::vector<uint8_t> want(32, 0xee);
      std::fill_n(want.begin() + std::ptrdiff_t(offset), bytes, 0x5a);
      EXPECT_EQ(read(*memory), want) << bytes << " bytes at " << offset;
    }
}

TEST_P(VulkanDriver, TransfersLargerThanTheStagingMemoryArriveWhole) {
  std::vector<uint8_t> bytes((17 << 20) + 3);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 31 + i / 4096);
  auto memory = buffer(bytes.size() + 5);
  good(stream_->write(*memory, 5, bytes));
  std::vector<uint8_t> found(bytes.size());
  good(stream_->read(*memory, 5, found));
  EXPECT_TRUE(found == bytes);
}

TEST_P(VulkanDriver, AWriteComesAfterTheCommandsBeforeIt) {
  for (std::size_t size : {8, 8192}) {
    auto a = buffer(size), b = buffer(size);
    good(stream_->fill(*a, 0, size, 1));
    good(stream_->copy(*b, 0, *a, 0, size));
    good(stream_->write(*a, 0, std::vector<uint8_t>(size, 2)));
    EXPECT_THAT(read(*b), Each(1));
    EXPECT_THAT(read(*a), Each(2));
  }
}

TEST_P(VulkanDriver, ManyBuffersDoNotShareBytes) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 3000; ++i) {
    buffers.push_back(buffer(1 + static_cast<uint64_t>(i) % 700));
    good(stream_->fill(*buffers.back(), 0, buffers.back()->bytes(), static_cast<uint8_t>(i)));
    if (i % 7 == 3)
      good(stream_->synchronize());
    if (i % 7 == 3)
      buffers[static_cast<std::size_t>(i) / 2] = nullptr;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i])
      EXPECT_THAT(read(*buffers[i]), Each(static_cast<uint8_t>(i))) << i;
}

TEST_P(VulkanDriver, MemoryThatComesBackIsZeroAgain) {
  for (uint64_t bytes : {100, 40 << 20}) {
    for (int round = 0; round < 2; ++round) {
      auto memory = buffer(bytes);
      EXPECT_EQ(read(*memory), std::vector<uint8_t>(bytes));
      good(stream_->fill(*memory, 0, bytes, 0xff));
      good(stream_->synchronize());
    }
  }
}

TEST_P(VulkanDriver, AnEventThatWasNotRecordedHasNoTime) {
  auto start = good(device_->createEvent()), end = good(device_->createEvent());
  EXPECT_EQ(statusOf(end->nanosecondsSince(*start)).code, Code::InvalidArgument);
  good(stream_->record(*start));
  good(stream_->synchronize());
  EXPECT_EQ(statusOf(end->nanosecondsSince(*start)).code, Code::InvalidArgument);
}

TEST_P(VulkanDriver, WorkBetweenTwoEventsTakesTime) {
  auto start = good(device_->createEvent()), end = good(device_->createEvent());
  auto memory = buffer(4 << 20);
  good(stream_->record(*start));
  good(stream_->fill(*memory, 0, memory->bytes(), 3));
  good(stream_->record(*end));
  good(stream_->synchronize());
  EXPECT_GT(good(end->nanosecondsSince(*start)), 0u);
}

TEST_P(VulkanDriver, TwoDevicesOfOneDriverWorkSideBySide) {
  auto other = good(driver_->open(0, {}));
  auto stream = good(other->createStream());
  auto here = buffer(64), there = good(other->allocate(64));
  good(stream_->fill(*here, 0, 64, 1));
  good(stream->fill(*there, 0, 64, 2));
  std::vector<uint8_t> found(64);
  good(stream->read(*there, 0, found));
  EXPECT_THAT(found, Each(2));
  EXPECT_THAT(read(*here), Each(1));
}

TEST_P(VulkanDriver, CodeForMoreThanTheDeviceHasIsRefused) {
  for (const char *target : {"cpu:x86_64", "vulkan:1.9", "vulkan:1.2+subgroup7", "vulkan:1.2+magic",
                             "vulkan:1.2+shared4294967295"})
    EXPECT_EQ(statusOf(device_->loadModule(target, vulkanKernels())).code, Code::Unsupported)
        << target;
  good(device_->loadModule(device_->info().target, vulkanKernels()));
}

TEST_P(VulkanDriver, ACapabilityThatIsNotOfferedIsRefused) {
  constexpr std::size_t kFirstCapability = 6 * sizeof(uint32_t);
  auto code = vulkanKernels();
  const uint32_t geometry = 2;
  std::memcpy(code.data() + kFirstCapability, &geometry, sizeof geometry);
  const Status status = statusOf(device_->loadModule(kVulkanTestTarget, code));
  EXPECT_EQ(status.code, Code::Unsupported);
  EXPECT_THAT(status.message, HasSubstr("SPIR-V capability 2"));
}

TEST_P(VulkanDriver, AKernelThatDoesNotFitItsSpecIsRefused) {
  KernelSpec spec = {"do_nothing", 0, 0, 0, 8};
  EXPECT_THAT(statusOf(module_->kernel(spec)).message,
              HasSubstr("a workgroup of 16 x 1 x 1, expected 8 threads"));
  spec.threads = 1 << 30;
  EXPECT_EQ(statusOf(module_->kernel(spec)).code, Code::Exhausted);
  spec = {"do_nothing", 0, 0, 0, 16, uint64_t(1) << 40};
  EXPECT_EQ(statusOf(module_->kernel(spec)).code, Code::Exhausted);
  spec = {"do_nothing", 0, 1 << 30, 0, 16};
  EXPECT_EQ(statusOf(module_->kernel(spec)).code, Code::InvalidArgument);
  spec = {"do_something", 0, 0, 0, 16};
  EXPECT_EQ(statusOf(module_->kernel(spec)).code, Code::NotFound);
}

TEST_P(VulkanDriver, SubgroupsAreOfTheSizeThatTheTargetNames) {
  auto out = buffer(8);
  const BufferBinding bindings[] = {{out.get(), 0}};
  auto size = kernel("subgroup_size", 1, 0);
  good(stream_->launch(*size, {1, 1, 1}, bindings, {}));
  uint64_t found = 0;
  good(stream_->read(*out, 0, {reinterpret_cast<uint8_t *>(&found), sizeof found}));
  EXPECT_THAT(device_->info().target, HasSubstr("+subgroup" + std::to_string(found) + "+"));
}

TEST_P(VulkanDriver, AWatchdogOfNonsenseIsRefused) {
  for (double seconds : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(statusOf(driver_->open(0, {.watchdogSeconds = seconds})).code, Code::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Mapped, VulkanDriver, ::testing::Values(addMappedVulkan));
INSTANTIATE_TEST_SUITE_P(Staged, VulkanDriver, ::testing::Values(addStagedVulkan));
INSTANTIATE_TEST_SUITE_P(Validated, VulkanDriver,
                         ::testing::Values(addValidatedMappedVulkan, addValidatedStagedVulkan));

} // namespace
} // namespace sinter::hal
