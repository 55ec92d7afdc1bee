// The cuda driver on a real device: what only hardware and the real assembler show. Skips, with the
// driver's reason, where there is none. Faults that spoil a process run in one of their own.
#include "hal/cuda/cuda_driver.h"

#include "hal/kernels_ptx.h"

#include <cstdio>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sinter::hal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::span<const uint8_t> bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

// A device with the test kernels loaded.
struct Opened {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Module> module;

  std::unique_ptr<Kernel> kernel(const KernelSpec &spec) {
    auto kernel = module->kernel(spec);
    EXPECT_TRUE(kernel.has_value()) << kernel.error().toString();
    return kernel ? std::move(*kernel) : nullptr;
  }
};

Result<Opened> open(double watchdogSeconds) {
  DriverRegistry registry;
  SINTER_TRY(addCudaDriver(registry));
  SINTER_ASSIGN(Driver * driver, registry.find("cuda"));
  Opened opened;
  SINTER_ASSIGN(opened.device, driver->open(0, {0, watchdogSeconds}));
  SINTER_ASSIGN(opened.stream, opened.device->createStream());
  SINTER_ASSIGN(opened.module, opened.device->loadModule("cuda:sm_80", bytesOf(kTestKernelsPtx)));
  return opened;
}

class CudaDevice : public ::testing::Test {
protected:
  void SetUp() override {
    DriverRegistry registry;
    ASSERT_TRUE(addCudaDriver(registry).has_value());
    if (auto devices = registry.find("cuda").value()->devices(); !devices)
      GTEST_SKIP() << devices.error().toString();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto opened = open(0);
    ASSERT_TRUE(opened.has_value()) << opened.error().toString();
    cuda_ = std::move(*opened);
  }

  Opened cuda_;
};

TEST_F(CudaDevice, ThreadsOfAProgramShareMemoryBeyondTheUsualLimit) {
  constexpr int64_t kBytes = 100 << 10;
  constexpr uint32_t kThreads = 512;
  auto mirror = cuda_.kernel({"mirror", 1, 1, 0, kThreads, kBytes});
  auto out = cuda_.device->allocate(4 * kThreads).value();
  const BufferBinding bindings[] = {{out.get(), 0}};
  ASSERT_TRUE(cuda_.stream->launch(*mirror, {1, 1, 1}, bindings, {{kBytes}}).has_value());
  std::vector<uint32_t> found(kThreads), want(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i)
    want[i] = kThreads - 1 - i;
  ASSERT_TRUE(cuda_.stream->read(*out, 0, {reinterpret_cast<uint8_t *>(found.data()), 4 * kThreads})
                  .has_value());
  EXPECT_EQ(found, want);
}

TEST_F(CudaDevice, TheAssemblerSaysWhatAKernelNeeds) {
  const CudaKernelResources resources =
      cudaKernelResources(*cuda_.kernel({"scale_f32", 2, 2, 0, 32}));
  EXPECT_GT(resources.registersPerThread, 0u);
  EXPECT_EQ(resources.staticSharedBytes, 0u);
  EXPECT_GE(resources.maxThreads, 32u);
}

// Some drivers tell a kernel's own limit beforehand, others refuse the launch.
TEST_F(CudaDevice, AKernelsOwnLimitOfThreadsIsKept) {
  auto kernel = cuda_.module->kernel({"needs_64_threads", 0, 0, 0, 128});
  if (!kernel) {
    EXPECT_EQ(kernel.error().code, Code::Exhausted);
    EXPECT_THAT(kernel.error().message, AllOf(HasSubstr("128 threads"), HasSubstr("most 64")));
    return;
  }
  auto launched = cuda_.stream->launch(**kernel, {1, 1, 1}, {}, {});
  ASSERT_FALSE(launched.has_value());
  EXPECT_THAT(launched.error().message, HasSubstr("with 128 threads"));
}

TEST_F(CudaDevice, ALaunchThatTheDriverRefusesNamesTheKernelAndTheCall) {
  auto kernel = cuda_.kernel({"needs_64_threads", 0, 0, 0, 32});
  auto launched = cuda_.stream->launch(*kernel, {1, 1, 1}, {}, {});
  ASSERT_FALSE(launched.has_value());
  EXPECT_THAT(launched.error().message,
              AllOf(HasSubstr("launch of 'needs_64_threads' with 32 threads"),
                    HasSubstr("cuLaunchKernelEx: CUDA_ERROR_")));
  EXPECT_TRUE(cuda_.stream->synchronize().has_value());
}

TEST_F(CudaDevice, ParametersOtherThanTheCodesAreRefused) {
  for (uint32_t scalars : {1, 3})
    EXPECT_FALSE(cuda_.module->kernel({"count_points", 1, scalars, 0, 32}).has_value()) << scalars;
}

TEST_F(CudaDevice, TheAssemblersLineIsInTheError) {
  const std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry broken()\n{\n  no.such.instruction;\n  ret;\n}\n";
  auto module = cuda_.device->loadModule("cuda:sm_80", bytesOf(text));
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().code, Code::Corrupt);
  EXPECT_THAT(module.error().message,
              AllOf(HasSubstr("CUDA_ERROR_INVALID_PTX"), HasSubstr("line 6")));
}

TEST_F(CudaDevice, CodeForALaterDeviceIsRefusedEvenWhereThePlanLies) {
  const std::string text = ".version 8.7\n.target sm_120a\n.address_size 64\n";
  auto module = cuda_.device->loadModule("cuda:sm_80", bytesOf(text));
  EXPECT_FALSE(module.has_value());
}

TEST_F(CudaDevice, MemoryRunsOutWithTheNumbers) {
  const uint64_t bytes = cuda_.device->info().memoryBytes - 1;
  auto memory = cuda_.device->allocate(bytes);
  ASSERT_FALSE(memory.has_value());
  EXPECT_EQ(memory.error().code, Code::Exhausted);
  EXPECT_THAT(memory.error().message,
              AllOf(HasSubstr(std::to_string(bytes)), HasSubstr("bytes are free")));
  EXPECT_TRUE(cuda_.device->allocate(1).has_value());
}

TEST_F(CudaDevice, LargeTransfersArriveWhole) {
  std::vector<uint8_t> bytes((100 << 20) + 77), found(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  auto memory = cuda_.device->allocate(bytes.size()).value();
  ASSERT_TRUE(cuda_.stream->write(*memory, 0, bytes).has_value());
  ASSERT_TRUE(cuda_.stream->read(*memory, 0, found).has_value());
  EXPECT_TRUE(found == bytes);
}

TEST_F(CudaDevice, TwoStreamsRunBesideEachOther) {
  auto other = cuda_.device->createStream().value();
  auto flag = cuda_.device->allocate(4).value();
  auto waits = cuda_.kernel({"wait_for", 1, 0});
  const BufferBinding bindings[] = {{flag.get(), 0}};
  ASSERT_TRUE(cuda_.stream->launch(*waits, {1, 1, 1}, bindings, {}).has_value());
  ASSERT_TRUE(other->fill(*flag, 0, 4, 1).has_value());
  EXPECT_TRUE(other->synchronize().has_value());
  EXPECT_TRUE(cuda_.stream->synchronize().has_value());
}

TEST_F(CudaDevice, TimeBetweenEventsCoversTheWorkBetween) {
  auto start = cuda_.device->createEvent().value(), end = cuda_.device->createEvent().value();
  auto memory = cuda_.device->allocate(256 << 20).value();
  ASSERT_TRUE(cuda_.stream->record(*start).has_value());
  ASSERT_TRUE(cuda_.stream->fill(*memory, 0, 256 << 20, 1).has_value());
  ASSERT_TRUE(cuda_.stream->record(*end).has_value());
  ASSERT_TRUE(cuda_.stream->synchronize().has_value());
  EXPECT_GT(end->nanosecondsSince(*start).value(), 1000u);
}

// Ends the process with 0 if a launch of `spec` loses the device with an error that contains
// `words`, a later call fails with it too, and everything can be destroyed.
[[noreturn]] void expectLost(double watchdogSeconds, const char *words, const KernelSpec &spec,
                             std::vector<int64_t> scalars) {
  alarm(30); // a process that cannot end is a failure, not a hang of the tests
  {
    auto opened = open(watchdogSeconds);
    if (!opened)
      std::exit(1);
    auto memory = opened->device->allocate(64).value();
    const auto kernel = opened->kernel(spec);
    const BufferBinding binding = {memory.get(), 0};
    if (!opened->stream->launch(*kernel, {1, 1, 1}, {&binding, spec.bufferCount}, scalars))
      std::exit(2);
    const auto first = opened->stream->synchronize();
    const auto later = opened->device->allocate(64);
    if (first || later)
      std::exit(3);
    std::fprintf(stderr, "%s | %s\n", first.error().message.c_str(), later.error().message.c_str());
    for (const Status &error : {first.error(), later.error()})
      if (error.code != Code::DeviceLost || error.message.find(words) == std::string::npos)
        std::exit(4);
  }
  std::fprintf(stderr, "all destroyed\n");
  std::exit(0);
}

TEST_F(CudaDevice, AnIllegalAddressLosesTheDeviceInTheDriversWords) {
  EXPECT_EXIT(expectLost(0, "CUDA_ERROR_ILLEGAL_ADDRESS", {"poke", 0, 1}, {16}),
              ::testing::ExitedWithCode(0), "all destroyed");
}

TEST_F(CudaDevice, AKernelThatNeverEndsLosesTheDeviceAfterTheWatchdogsTime) {
  EXPECT_EXIT(expectLost(0.5, "did not end within the 0.5", {"wait_for", 1, 0}, {}),
              ::testing::ExitedWithCode(0), "all destroyed");
}

} // namespace
} // namespace sinter::hal
