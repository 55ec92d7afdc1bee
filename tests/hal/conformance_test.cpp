// What every driver must do, run over all of them. A driver's missing features are listed here, and
// the calls behind them must say so.
#include "hal/drivers.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace sinter::hal {
namespace {

constexpr Feature kFeatures[] = {Feature::Execute,       Feature::HostVisible, Feature::WrapMemory,
                                 Feature::CapturedGraph, Feature::Timing,      Feature::Scratch};

template <typename T> T good(Result<T> result) {
  if (!result)
    ADD_FAILURE() << result.error().toString();
  return std::move(result).value();
}

template <typename T> Code codeOf(const Result<T> &result) {
  EXPECT_FALSE(result.has_value());
  return result ? Code::Cancelled : result.error().code;
}

class Conformance : public ::testing::TestWithParam<DriverCase> {
protected:
  void SetUp() override {
    ASSERT_TRUE(GetParam().add(registry_).has_value());
    Driver &driver = *good(registry_.find(GetParam().driver));
    if (auto devices = driver.devices(); GetParam().onHardware && !devices)
      GTEST_SKIP() << devices.error().toString();
    device_ = good(driver.open(0, {GetParam().threads}));
    stream_ = good(device_->createStream());
    module_ = good(device_->loadModule(GetParam().target, GetParam().kernels()));
  }

  bool has(Feature feature) const { return !GetParam().unsupported.contains(feature); }
  std::unique_ptr<Buffer> buffer(uint64_t bytes) { return good(device_->allocate(bytes)); }

  std::unique_ptr<Buffer> bufferOf(const std::vector<uint8_t> &bytes) {
    auto result = buffer(bytes.size());
    EXPECT_TRUE(stream_->write(*result, 0, bytes).has_value());
    return result;
  }
  std::vector<uint8_t> read(const Buffer &from) {
    std::vector<uint8_t> bytes(from.bytes());
    EXPECT_TRUE(stream_->read(from, 0, bytes).has_value());
    EXPECT_TRUE(stream_->synchronize().has_value());
    return bytes;
  }
  // `bytes` where the driver executes, else zeros.
  std::vector<uint8_t> expected(std::vector<uint8_t> bytes) {
    return has(Feature::Execute) ? bytes : std::vector<uint8_t>(bytes.size());
  }
  std::unique_ptr<Kernel> kernel(const char *symbol, uint32_t buffers, uint32_t scalars,
                                 uint64_t scratch = 0) {
    return good(module_->kernel({symbol, buffers, scalars, scratch, GetParam().programThreads}));
  }

  // Runs count_points on `grid` and expects each point once.
  void expectEachPointOnce(const Grid &grid) {
    const std::size_t points = static_cast<std::size_t>(grid[0] * grid[1] * grid[2]);
    auto out = buffer((points + 1) * 8);
    auto count = kernel("count_points", 1, 2);
    const BufferBinding bindings[] = {{out.get(), 0}};
    const int64_t scalars[] = {grid[0], grid[1]};
    auto launched = stream_->launch(*count, grid, bindings, scalars);
    ASSERT_TRUE(launched.has_value()) << launched.error().toString();
    const auto bytes = read(*out);
    std::vector<int64_t> found(points + 1), want(points + 1);
    std::memcpy(found.data(), bytes.data(), bytes.size());
    if (has(Feature::Execute))
      std::iota(want.begin(), want.end() - 1, 1);
    EXPECT_EQ(found, want);
  }

  DriverRegistry registry_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Module> module_;
};

TEST_P(Conformance, SupportsAllButTheListedFeatures) {
  for (Feature feature : kFeatures)
    EXPECT_EQ(device_->supports(feature), has(feature)) << featureName(feature);
}

TEST_P(Conformance, DescribesItself) {
  const auto devices = good(good(registry_.find(GetParam().driver))->devices());
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(device_->info().driver, GetParam().driver);
  const std::string target = device_->info().target;
  EXPECT_TRUE(target.starts_with(GetParam().driver) || target.starts_with(GetParam().target))
      << target;
  EXPECT_GE(device_->info().computeUnits, 1u);
  if (GetParam().threads)
    EXPECT_EQ(device_->info().computeUnits, GetParam().threads);
}

TEST_P(Conformance, ADeviceBeyondTheLastIsNotFound) {
  EXPECT_EQ(codeOf(good(registry_.find(GetParam().driver))->open(99, {})), Code::NotFound);
}

TEST_P(Conformance, AllocatedMemoryIsZeroAndAligned) {
  for (uint64_t bytes : {0, 1, 63, 64, 65, 4096, 3 << 20}) {
    auto memory = buffer(bytes);
    EXPECT_EQ(memory->bytes(), bytes);
    EXPECT_EQ(read(*memory), std::vector<uint8_t>(bytes)) << bytes;
    if (has(Feature::HostVisible))
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->host().data()) % kBufferAlignment, 0u);
  }
}

TEST_P(Conformance, AnAllocationBeyondAllMemoryFailsWithTheNumbers) {
  for (uint64_t bytes : {uint64_t(1) << 50, UINT64_MAX}) {
    auto memory = device_->allocate(bytes);
    ASSERT_EQ(codeOf(memory), Code::Exhausted);
    EXPECT_THAT(memory.error().message, ::testing::HasSubstr(std::to_string(bytes)));
  }
}

TEST_P(Conformance, WhatWasWrittenIsReadBack) {
  std::vector<uint8_t> bytes(1000003);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
  EXPECT_EQ(read(*bufferOf(bytes)), expected(bytes));
}

TEST_P(Conformance, AReadbackHasTheBytesAsTheyWereBeforeLaterCommands) {
  auto memory = bufferOf({1, 2, 3, 4, 5});
  auto readback = good(device_->createReadback(8));
  EXPECT_TRUE(stream_->beginRead(*memory, 1, 4, *readback, 0).has_value());
  EXPECT_TRUE(stream_->beginRead(*memory, 0, 2, *readback, 6).has_value());
  EXPECT_TRUE(stream_->fill(*memory, 0, 5, 9).has_value());
  const std::span<const uint8_t> found = good(readback->wait());
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(std::vector(found.begin(), found.begin() + 4), expected({2, 3, 4, 5}));
  EXPECT_EQ(std::vector(found.begin() + 6, found.end()), expected({1, 2}));
  EXPECT_EQ(read(*memory), expected({9, 9, 9, 9, 9}));
}

TEST_P(Conformance, AReadBeyondAReadbackOrItsBufferIsRefused) {
  auto memory = buffer(4);
  auto readback = good(device_->createReadback(6));
  EXPECT_EQ(codeOf(stream_->beginRead(*memory, 0, 4, *readback, 3)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->beginRead(*memory, 1, 4, *readback, 0)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->beginRead(*memory, 0, 4, *readback, UINT64_MAX)),
            Code::InvalidArgument);
}

TEST_P(Conformance, ACopyMovesTheRangeAndNothingElse) {
  auto src = bufferOf({1, 2, 3, 4, 5});
  auto dst = bufferOf({9, 9, 9, 9, 9});
  EXPECT_TRUE(stream_->copy(*dst, 1, *src, 2, 3).has_value());
  EXPECT_EQ(read(*dst), expected({9, 3, 4, 5, 9}));
}

TEST_P(Conformance, AFillSetsTheRangeAndNothingElse) {
  auto dst = bufferOf({1, 2, 3, 4});
  EXPECT_TRUE(stream_->fill(*dst, 1, 2, 0xab).has_value());
  EXPECT_EQ(read(*dst), expected({1, 0xab, 0xab, 4}));
}

TEST_P(Conformance, RangesOutsideOfABufferAreRefused) {
  auto memory = buffer(8);
  std::vector<uint8_t> bytes(8);
  for (uint64_t offset : {uint64_t(1), uint64_t(9), UINT64_MAX, UINT64_MAX - 7}) {
    EXPECT_EQ(codeOf(stream_->write(*memory, offset, bytes)), Code::InvalidArgument);
    EXPECT_EQ(codeOf(stream_->read(*memory, offset, bytes)), Code::InvalidArgument);
    EXPECT_EQ(codeOf(stream_->fill(*memory, offset, 8, 1)), Code::InvalidArgument);
    EXPECT_EQ(codeOf(stream_->copy(*memory, offset, *buffer(8), 0, 8)), Code::InvalidArgument);
    EXPECT_EQ(codeOf(stream_->copy(*memory, 0, *buffer(8), offset, 8)), Code::InvalidArgument);
  }
}

TEST_P(Conformance, ACopyWithinABufferMustNotOverlap) {
  auto memory = buffer(8);
  EXPECT_EQ(codeOf(stream_->copy(*memory, 0, *memory, 3, 4)), Code::InvalidArgument);
  EXPECT_TRUE(stream_->copy(*memory, 0, *memory, 4, 4).has_value());
  EXPECT_TRUE(stream_->synchronize().has_value());
}

TEST_P(Conformance, WrappedMemoryIsTheCallersOwn) {
  std::vector<uint8_t> bytes = {1, 2, 3};
  auto wrapped = device_->wrap(bytes);
  if (!has(Feature::WrapMemory)) {
    EXPECT_EQ(codeOf(wrapped), Code::Unsupported);
    return;
  }
  auto memory = good(std::move(wrapped));
  EXPECT_EQ(memory->host().data(), bytes.data());
  EXPECT_TRUE(stream_->fill(*memory, 1, 1, 7).has_value());
  EXPECT_TRUE(stream_->synchronize().has_value());
  EXPECT_EQ(bytes[1], has(Feature::Execute) ? 7 : 2);
}

TEST_P(Conformance, AReadOnlyBufferIsNotWrittenTo) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  auto wrapped = device_->wrapReadOnly(bytes);
  if (!has(Feature::WrapMemory)) {
    EXPECT_EQ(codeOf(wrapped), Code::Unsupported);
    return;
  }
  auto memory = good(std::move(wrapped));
  EXPECT_TRUE(memory->readOnly());
  EXPECT_EQ(codeOf(stream_->fill(*memory, 0, 1, 7)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->write(*memory, 0, bytes)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->copy(*memory, 0, *buffer(3), 0, 3)), Code::InvalidArgument);
}

TEST_P(Conformance, EveryPointOfAGridRunsOnce) {
  for (const Grid &grid : {Grid{1, 1, 1}, Grid{2, 1, 1}, Grid{17, 1, 1}, Grid{1, 17, 1},
                           Grid{1, 1, 17}, Grid{3, 5, 7}, Grid{1009, 1, 3}, Grid{2, 100, 31}})
    expectEachPointOnce(grid);
}

TEST_P(Conformance, EveryPointRunsOnceInsideAStepToo) {
  StepScope step(*stream_);
  for (int64_t x = 1; x < 40; ++x)
    expectEachPointOnce({x, 2, 1});
}

TEST_P(Conformance, AGridWithAZeroExtentRunsNothing) {
  for (const Grid &grid :
       {Grid{0, 1, 1}, Grid{4, 0, 1}, Grid{4, 4, 0}, Grid{0, 0, 0}, Grid{INT64_MAX, 0, 1}})
    expectEachPointOnce(grid);
}

TEST_P(Conformance, ANegativeOrOverflowingGridIsRefused) {
  auto nothing = kernel("do_nothing", 0, 0);
  for (const Grid &grid : {Grid{-1, 1, 1}, Grid{1, -1, 1}, Grid{-1, -1, 1}, Grid{1, 1, INT64_MIN},
                           Grid{INT64_MAX, 2, 1}, Grid{int64_t(1) << 32, int64_t(1) << 32, 0}})
    EXPECT_EQ(codeOf(stream_->launch(*nothing, grid, {}, {})), Code::InvalidArgument);
}

TEST_P(Conformance, ALaunchWithOtherCountsThanTheKernelsIsRefused) {
  auto count = kernel("count_points", 1, 2);
  auto memory = buffer(8);
  const BufferBinding bindings[] = {{memory.get(), 0}, {memory.get(), 0}};
  const int64_t scalars[] = {1, 1, 1};
  const std::span<const BufferBinding> two(bindings);
  const std::span<const int64_t> three(scalars);
  const Grid one = {1, 1, 1};
  EXPECT_EQ(codeOf(stream_->launch(*count, one, two, three.first(2))), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->launch(*count, one, two.first(1), three)), Code::InvalidArgument);
  EXPECT_TRUE(stream_->launch(*count, one, two.first(1), three.first(2)).has_value());
  EXPECT_TRUE(stream_->synchronize().has_value());
}

TEST_P(Conformance, ABindingBeyondItsBufferIsRefused) {
  auto count = kernel("count_points", 1, 2);
  auto memory = buffer(8);
  const int64_t scalars[] = {0, 0};
  const BufferBinding beyond[] = {{memory.get(), 9}}, none[] = {{nullptr, 0}};
  EXPECT_EQ(codeOf(stream_->launch(*count, {1, 1, 1}, beyond, scalars)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->launch(*count, {1, 1, 1}, none, scalars)), Code::InvalidArgument);
}

TEST_P(Conformance, ABindingsOffsetMovesTheKernelsBuffer) {
  auto count = kernel("count_points", 1, 2);
  auto memory = buffer(32);
  const BufferBinding bindings[] = {{memory.get(), 16}};
  const int64_t scalars[] = {2, 1};
  ASSERT_TRUE(stream_->launch(*count, {2, 1, 1}, bindings, scalars).has_value());
  std::vector<uint8_t> want(32);
  want[16] = 1;
  want[24] = 2;
  EXPECT_EQ(read(*memory), expected(want));
}

TEST_P(Conformance, LaunchesFollowOneAnother) {
  std::vector<float> values(1000, 1.0f), found(1000);
  auto memory = buffer(4000);
  auto scale = kernel("scale_f32", 2, 2);
  ASSERT_TRUE(
      stream_->write(*memory, 0, {reinterpret_cast<uint8_t *>(values.data()), 4000}).has_value());
  const BufferBinding bindings[] = {{memory.get(), 0}, {memory.get(), 0}};
  const int64_t scalars[] = {1000, 2};
  {
    StepScope step(*stream_);
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(stream_->launch(*scale, {63, 1, 1}, bindings, scalars).has_value());
  }
  const auto bytes = read(*memory);
  std::memcpy(found.data(), bytes.data(), 4000);
  EXPECT_EQ(found, std::vector<float>(1000, has(Feature::Execute) ? 1048576.0f : 0.0f));
}

TEST_P(Conformance, EveryThreadHasItsOwnAlignedScratch) {
  constexpr int64_t kBytes = 5000;
  if (!has(Feature::Scratch)) {
    EXPECT_EQ(codeOf(module_->kernel({"do_nothing", 0, 0, kBytes})), Code::Unsupported);
    return;
  }
  auto memory = buffer(200);
  auto use = kernel("use_scratch", 1, 1, kBytes);
  const BufferBinding bindings[] = {{memory.get(), 0}};
  ASSERT_TRUE(stream_->launch(*use, {200, 1, 1}, bindings, {{kBytes}}).has_value());
  EXPECT_EQ(read(*memory), expected(std::vector<uint8_t>(200, 1)));
}

TEST_P(Conformance, AKernelOutlivesItsModule) {
  auto nothing = kernel("do_nothing", 0, 0);
  module_.reset();
  EXPECT_TRUE(stream_->launch(*nothing, {3, 1, 1}, {}, {}).has_value());
  EXPECT_TRUE(stream_->synchronize().has_value());
}

TEST_P(Conformance, EventsMeasureOrSayThatTheyCannot) {
  auto start = good(device_->createEvent()), end = good(device_->createEvent());
  ASSERT_TRUE(stream_->record(*start).has_value());
  ASSERT_TRUE(stream_->record(*end).has_value());
  ASSERT_TRUE(stream_->synchronize().has_value());
  auto elapsed = end->nanosecondsSince(*start);
  if (has(Feature::Timing))
    EXPECT_TRUE(elapsed.has_value());
  else
    EXPECT_EQ(codeOf(elapsed), Code::Unsupported);
}

TEST_P(Conformance, GraphsAreCapturedOrSaidToBeUnsupported) {
  auto begun = stream_->beginCapture();
  if (!has(Feature::CapturedGraph)) {
    ASSERT_EQ(codeOf(begun), Code::Unsupported);
    EXPECT_THAT(begun.error().message, ::testing::HasSubstr("has no captured graphs"));
    EXPECT_EQ(codeOf(stream_->endCapture()), Code::Unsupported);
    return;
  }
  ASSERT_TRUE(begun.has_value());
  auto graph = good(stream_->endCapture());
  EXPECT_TRUE(stream_->submit(*graph).has_value());
  EXPECT_TRUE(stream_->synchronize().has_value());
}

TEST_P(Conformance, ACapturedGraphRunsOncePerSubmission) {
  if (!has(Feature::CapturedGraph))
    GTEST_SKIP() << "no captured graphs";
  auto memory = buffer(64), copy = buffer(64);
  auto count = kernel("count_points", 1, 2);
  ASSERT_TRUE(stream_->beginCapture().has_value());
  for (uint64_t offset : {0, 16}) {
    const BufferBinding bindings[] = {{memory.get(), offset}};
    ASSERT_TRUE(stream_->launch(*count, {2, 1, 1}, bindings, {{2, 1}}).has_value());
  }
  ASSERT_TRUE(stream_->copy(*copy, 32, *memory, 0, 32).has_value());
  ASSERT_TRUE(stream_->fill(*copy, 0, 2, 5).has_value());
  auto graph = good(stream_->endCapture());
  EXPECT_EQ(read(*copy), std::vector<uint8_t>(64));
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(stream_->submit(*graph).has_value());
  std::vector<uint8_t> want(64);
  want[0] = want[1] = 5;
  for (size_t i : {0, 1, 2, 3})
    want[32 + 8 * i] = i % 2 ? 6 : 3;
  EXPECT_EQ(read(*copy), expected(want));
}

TEST_P(Conformance, WritesReadsAndWaitsAreNotCaptured) {
  if (!has(Feature::CapturedGraph) || !has(Feature::Execute))
    GTEST_SKIP() << "no captured graphs that execute";
  auto memory = bufferOf({1, 2, 3});
  std::vector<uint8_t> bytes(3);
  ASSERT_TRUE(stream_->beginCapture().has_value());
  EXPECT_EQ(codeOf(stream_->write(*memory, 0, bytes)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->read(*memory, 0, bytes)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->synchronize()), Code::InvalidArgument);
  EXPECT_EQ(codeOf(stream_->beginCapture()), Code::InvalidArgument);
  auto graph = good(stream_->endCapture());
  EXPECT_EQ(codeOf(stream_->endCapture()), Code::InvalidArgument);
  ASSERT_TRUE(stream_->submit(*graph).has_value());
  EXPECT_EQ(read(*memory), (std::vector<uint8_t>{1, 2, 3}));
}

TEST_P(Conformance, HostBytesAreFreeWhenAWriteReturns) {
  std::vector<uint8_t> bytes(100003, 1);
  auto memory = buffer(40 * bytes.size());
  std::vector<uint8_t> want;
  for (uint8_t i = 0; i < 40; ++i) {
    std::fill(bytes.begin(), bytes.end(), i);
    ASSERT_TRUE(stream_->write(*memory, want.size(), bytes).has_value());
    want.insert(want.end(), bytes.begin(), bytes.end());
    std::fill(bytes.begin(), bytes.end(), uint8_t(0xee));
  }
  EXPECT_EQ(read(*memory), expected(want));
}

TEST_P(Conformance, HostTasksRunOnceEach) {
  std::vector<int> runs(777);
  device_->parallelFor(
      777,
      [](void *context, int64_t i) { ++(*static_cast<std::vector<int> *>(context))[size_t(i)]; },
      &runs);
  EXPECT_EQ(runs, std::vector<int>(777, 1));
}

INSTANTIATE_TEST_SUITE_P(Drivers, Conformance, ::testing::ValuesIn(kDrivers),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sinter::hal
