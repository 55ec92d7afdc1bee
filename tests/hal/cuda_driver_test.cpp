// The cuda driver over a fake driver library: what it says when something is missing or fails, the
// limits it checks, and what it leaves behind.
#include "hal/fake_cuda.h"
#include "hal/null/null_driver.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::hal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kPtx = ".version 7.0\n.target sm_80\n.address_size 64\n";

std::span<const uint8_t> bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

template <typename T> Status errorOf(const Result<T> &result) {
  EXPECT_FALSE(result.has_value());
  return result ? Status{Code::Cancelled, "no error"} : result.error();
}

class CudaDriver : public ::testing::Test {
protected:
  CudaDriver() { EXPECT_TRUE(fake::addFakeCuda(registry_).has_value()); }
  ~CudaDriver() override {
    closeAll();
    fake::library() = {};
  }

  Driver &driver() { return *registry_.find("cuda").value(); }
  void open(double watchdogSeconds = 0) {
    auto device = driver().open(0, {0, watchdogSeconds});
    ASSERT_TRUE(device.has_value()) << device.error().toString();
    device_ = std::move(*device);
    stream_ = device_->createStream().value();
    module_ = device_->loadModule("cuda:sm_80", bytesOf(kPtx)).value();
  }
  Status kernelError(const KernelSpec &spec) { return errorOf(module_->kernel(spec)); }
  Status targetError(std::string_view target) {
    return errorOf(device_->loadModule(target, bytesOf(kPtx)));
  }
  void closeAll() {
    module_.reset();
    stream_.reset();
    device_.reset();
  }

  DriverRegistry registry_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Module> module_;
};

TEST_F(CudaDriver, PeakRatesAreUnitsTimesProductsTimesTheHighestClock) {
  fake::library().capability = 90;
  open();
  const auto rate = device_->peakRate(Arithmetic::F16);
  ASSERT_TRUE(rate.has_value()) << rate.error().toString();
  EXPECT_DOUBLE_EQ(rate->operationsPerSecond, 132 * 2048 * 2.0 * 1.98e9);
  EXPECT_EQ(rate->source, "132 units times 2048 products a clock, as published, at 1980 MHz");
}

TEST_F(CudaDriver, APeakRateOfAnUnknownCapabilityIsUnsupported) {
  fake::library().capability = 77;
  auto device = driver().open(0, {});
  ASSERT_TRUE(device.has_value()) << device.error().toString();
  EXPECT_EQ(errorOf((*device)->peakRate(Arithmetic::I8)).message,
            "no rate of i8 is known for sm_77");
}

Result<std::unique_ptr<CudaLibrary>> openNothing() {
  return fail(Code::NotFound, "no library here");
}

TEST(CudaLibraryOpening, AMissingLibraryIsTheDevicesError) {
  DriverRegistry registry;
  ASSERT_TRUE(addCudaDriver(registry, openNothing).has_value());
  Driver &driver = *registry.find("cuda").value();
  EXPECT_EQ(errorOf(driver.devices()).message, "no library here");
  EXPECT_EQ(errorOf(driver.open(0, {})).code, Code::NotFound);
}

TEST_F(CudaDriver, AnOldDriverIsRefusedWithBothVersions) {
  fake::library().version = 11080;
  const Status error = errorOf(driver().devices());
  EXPECT_EQ(error.code, Code::Unsupported);
  EXPECT_EQ(error.message, "the NVIDIA driver the fake is for CUDA 11.8, expected 12.0 or later");
}

TEST_F(CudaDriver, AnOldDriverIsCalledOldEvenWhereFunctionsAreMissing) {
  fake::library().version = 11080;
  fake::library().missing = "cuLaunchKernelEx";
  EXPECT_EQ(errorOf(driver().devices()).code, Code::Unsupported);
}

TEST_F(CudaDriver, EachMissingFunctionIsNamed) {
  std::size_t required = 0;
  for (const auto &[symbol, function] : fake::functions().all()) {
    if (symbol == "cuFuncGetParamInfo")
      continue;
    ++required;
    DriverRegistry registry;
    ASSERT_TRUE(fake::addFakeCuda(registry).has_value());
    fake::library().missing = symbol;
    const Status error = errorOf(registry.find("cuda").value()->devices());
    EXPECT_EQ(error.code, Code::NotFound);
    EXPECT_THAT(error.message, HasSubstr("'" + symbol + "'"));
  }
  EXPECT_GE(required, 40u);
}

TEST_F(CudaDriver, ADriverWithoutParameterQueriesStillRunsKernels) {
  fake::library().missing = "cuFuncGetParamInfo";
  open();
  EXPECT_TRUE(module_->kernel({"do_nothing", 0, 0}).has_value());
}

TEST_F(CudaDriver, NoDeviceIsSaidInTheDriversOwnWords) {
  fake::library().initResult = cuda::kNoDevice;
  const Status error = errorOf(driver().devices());
  EXPECT_EQ(error.code, Code::NotFound);
  EXPECT_EQ(error.message, "the NVIDIA driver finds no device that it can use: cuInit: "
                           "CUDA_ERROR_NO_DEVICE: in its words");
}

TEST_F(CudaDriver, AnEmptyListOfDevicesIsAnError) {
  fake::library().deviceCount = 0;
  EXPECT_EQ(errorOf(driver().devices()).message, "the NVIDIA driver finds no device");
}

TEST_F(CudaDriver, DescribesTheDevice) {
  const DeviceInfo info = driver().devices().value().front();
  EXPECT_EQ(info.driver, "cuda");
  EXPECT_EQ(info.name, "a fake");
  EXPECT_EQ(info.target, "cuda:sm_90");
  EXPECT_EQ(info.memoryBytes, uint64_t(1) << 30);
  EXPECT_EQ(info.computeUnits, 132u);
}

TEST_F(CudaDriver, AnUnusableWatchdogIsRefused) {
  for (double seconds : {-1.0, double(NAN), double(INFINITY)})
    EXPECT_EQ(errorOf(driver().open(0, {0, seconds})).code, Code::InvalidArgument) << seconds;
}

TEST_F(CudaDriver, MemoryThatRunsOutIsToldWithTheBytesAskedForAndFree) {
  open();
  auto first = device_->allocate(1 << 29);
  const Status error = errorOf(device_->allocate((1 << 29) + 1));
  EXPECT_EQ(error.code, Code::Exhausted);
  EXPECT_EQ(error.message,
            "allocation of 536870913 bytes on device 'a fake' failed: 536870912 of 1073741824 "
            "bytes are free (cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: in its words)");
}

TEST_F(CudaDriver, TellsTheBytesThatAreFree) {
  open();
  const uint64_t before = device_->freeBytes().value();
  auto buffer = device_->allocate(1 << 29);
  EXPECT_EQ(before - device_->freeBytes().value(), uint64_t{1} << 29);
}

TEST_F(CudaDriver, MemoryBeyondTheDevicesIsNotAskedOfTheDriver) {
  open();
  EXPECT_THAT(errorOf(device_->allocate(UINT64_MAX)).message,
              HasSubstr("allocation of 18446744073709551615 bytes"));
}

TEST_F(CudaDriver, CodeRunsOnTheDevicesThatItsTargetMeans) {
  open();
  for (const char *target :
       {"cuda:sm_50", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90a", "cuda:sm_90f"})
    EXPECT_TRUE(device_->loadModule(target, bytesOf(kPtx)).has_value()) << target;
  for (const char *target : {"cuda:sm_100", "cuda:sm_80a", "cuda:sm_100a", "cuda:sm_80f",
                             "cuda:sm_91", "cuda:sm_90b", "cuda:sm_90aa", "cuda:sm_", "cuda:sm_-9",
                             "cuda:sm_99999999999", "cuda", "", "cpu:x86_64", "cuda:gfx90a"})
    EXPECT_EQ(targetError(target).code, Code::Unsupported) << target;
}

TEST_F(CudaDriver, CodeForAnotherDeviceIsRefusedWithBothTargets) {
  open();
  EXPECT_EQ(targetError("cuda:sm_100").message,
            "code is for 'cuda:sm_100', device 'a fake' is 'cuda:sm_90'");
  EXPECT_EQ(targetError("cuda:sm_80a").message,
            "code is for 'cuda:sm_80a', which no other device runs, device 'a fake' is "
            "'cuda:sm_90'");
}

TEST_F(CudaDriver, TheAssemblersWordsAreInTheError) {
  open();
  fake::library().assemblerLog = "ptxas line 9; syntax error\nptxas fatal: aborted\n";
  const Status error = targetError("cuda:sm_80");
  EXPECT_EQ(error.code, Code::Corrupt);
  EXPECT_EQ(error.message,
            "device 'a fake': cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX: in its words: ptxas "
            "line 9; syntax error; ptxas fatal: aborted");
}

TEST_F(CudaDriver, WhatIsNoPtxNeverReachesTheAssembler) {
  open();
  const int64_t modules = fake::library().modules;
  for (std::string_view code : {std::string_view(),
                                std::string_view("\x7f"
                                                 "ELF"),
                                std::string_view("a .version\0b", 12)})
    EXPECT_EQ(errorOf(device_->loadModule("cuda:sm_80", bytesOf(code))).code, Code::Corrupt);
  EXPECT_EQ(fake::library().modules, modules);
}

TEST_F(CudaDriver, AKernelThatTheCodeLacksIsNotFound) {
  open();
  const Status error = kernelError({"absent", 0, 0});
  EXPECT_EQ(error.code, Code::NotFound);
  EXPECT_EQ(error.message, "code has no kernel 'absent'");
}

TEST_F(CudaDriver, AKernelWithOtherParametersThanSaidIsRefused) {
  open();
  EXPECT_THAT(kernelError({"count_points", 1, 3}).message,
              HasSubstr("has fewer parameters than the 1 buffers and 3 scalars"));
  EXPECT_THAT(kernelError({"count_points", 1, 1}).message, HasSubstr("has more parameters"));
}

TEST_F(CudaDriver, CountsBeyondALaunchsParametersAreRefused) {
  open();
  EXPECT_THAT(kernelError({"do_nothing", 65, 0}).message,
              HasSubstr("65 buffers, expected at most"));
  EXPECT_THAT(kernelError({"do_nothing", 64, 449}).message, HasSubstr("449 scalars, expected"));
  EXPECT_EQ(kernelError({"do_nothing", 1, UINT32_MAX}).code, Code::InvalidArgument);
}

TEST_F(CudaDriver, ThreadsBeyondTheDevicesAreRefusedWithTheNumbers) {
  open();
  const Status error = kernelError({"do_nothing", 0, 0, 0, 1025});
  EXPECT_EQ(error.code, Code::Exhausted);
  EXPECT_EQ(error.message, "kernel 'do_nothing' has 1025 threads, device 'a fake' runs at most "
                           "1024 in a block");
  EXPECT_EQ(kernelError({"do_nothing", 0, 0, 0, 0}).code, Code::InvalidArgument);
}

TEST_F(CudaDriver, ThreadsThatNeedMoreRegistersThanThereAreAreRefusedWithTheNumbers) {
  fake::library().functions["do_nothing"].registers = 255;
  fake::library().functions["do_nothing"].maxThreads = 256;
  open();
  EXPECT_THAT(kernelError({"do_nothing", 0, 0, 0, 512}).message,
              AllOf(HasSubstr("512 threads"), HasSubstr("255 registers"), HasSubstr("most 256")));
}

TEST_F(CudaDriver, SharedMemoryBeyondTheDevicesIsRefusedWithTheNumbers) {
  fake::library().functions["do_nothing"].staticShared = 1000;
  open();
  for (uint64_t bytes : {uint64_t(227 * 1024 - 999), UINT64_MAX}) {
    const Status error = kernelError({"do_nothing", 0, 0, 0, 32, bytes});
    EXPECT_EQ(error.code, Code::Exhausted);
    EXPECT_EQ(error.message, "kernel 'do_nothing' shares " + std::to_string(bytes) +
                                 " and 1000 bytes in a block, device 'a fake' has 232448");
  }
}

TEST_F(CudaDriver, ASecondKernelOfAFunctionLeavesTheFirstItsSharedMemory) {
  open();
  auto large = module_->kernel({"do_nothing", 0, 0, 0, 32, 200 << 10});
  auto small = module_->kernel({"do_nothing", 0, 0, 0, 32, 100 << 10});
  ASSERT_TRUE(large.has_value() && small.has_value());
  EXPECT_TRUE(stream_->launch(**large, {1, 1, 1}, {}, {}).has_value());
}

TEST_F(CudaDriver, ResourcesOfAKernelCanBeAskedFor) {
  fake::library().functions["do_nothing"] = {0, 77, 12, 40, 512, [](auto &&...) {}};
  open();
  const auto kernel = module_->kernel({"do_nothing", 0, 0}).value();
  const CudaKernelResources resources = cudaKernelResources(*kernel);
  EXPECT_EQ(resources.registersPerThread, 77u);
  EXPECT_EQ(resources.staticSharedBytes, 12u);
  EXPECT_EQ(resources.localBytesPerThread, 40u);
  EXPECT_EQ(resources.maxThreads, 512u);
}

TEST_F(CudaDriver, TheAssemblerIsToldWhatTheDeviceWas) {
  open();
  auto options = fake::library().jitOptions;
  EXPECT_EQ(options.at(cuda::kJitOptimisationLevel), 4u);
  EXPECT_FALSE(options.contains(cuda::kJitMaxRegisters));
  EXPECT_FALSE(options.contains(cuda::kJitDebugInfo));
  ASSERT_TRUE(setCudaAssembly(*device_, {.optimisation = 1, .maxRegisters = 64, .lineInfo = true})
                  .has_value());
  ASSERT_TRUE(device_->loadModule("cuda:sm_80", bytesOf(kPtx)).has_value());
  options = fake::library().jitOptions;
  EXPECT_EQ(options.at(cuda::kJitOptimisationLevel), 1u);
  EXPECT_EQ(options.at(cuda::kJitMaxRegisters), 64u);
  EXPECT_EQ(options.at(cuda::kJitLineInfo), 1u);
  EXPECT_FALSE(options.contains(cuda::kJitDebugInfo));
}

TEST_F(CudaDriver, TheAssemblerUsesAllProcessorsFromVersion13On) {
  fake::library().version = 13000;
  open();
  EXPECT_EQ(fake::library().jitOptions.at(cuda::kJitSplitCompile), 0u);
  ASSERT_TRUE(setCudaAssembly(*device_, {.debugInfo = true}).has_value());
  ASSERT_TRUE(device_->loadModule("cuda:sm_80", bytesOf(kPtx)).has_value());
  EXPECT_FALSE(fake::library().jitOptions.contains(cuda::kJitSplitCompile));
}

TEST_F(CudaDriver, AnOlderAssemblerIsNotToldOfProcessors) {
  fake::library().version = 12090;
  open();
  EXPECT_FALSE(fake::library().jitOptions.contains(cuda::kJitSplitCompile));
}

TEST(CudaAssembly, FlagsAreReadAsPtxasSpellsThem) {
  const CudaAssembly plain = parseCudaAssembly("").value();
  EXPECT_EQ(plain.optimisation, 4u);
  EXPECT_EQ(plain.maxRegisters, 0u);
  for (const char *flags : {"-O2 -maxrregcount=96 -g", " --opt-level 2  --maxrregcount 96 -g ",
                            "-O 2 -maxrregcount 96 --device-debug"}) {
    const CudaAssembly read = parseCudaAssembly(flags).value();
    EXPECT_EQ(read.optimisation, 2u) << flags;
    EXPECT_EQ(read.maxRegisters, 96u) << flags;
    EXPECT_TRUE(read.debugInfo && !read.lineInfo) << flags;
  }
  EXPECT_TRUE(parseCudaAssembly("--generate-line-info").value().lineInfo);
}

TEST(CudaAssembly, OtherFlagsAndValuesAreRefusedByName) {
  EXPECT_EQ(errorOf(parseCudaAssembly("-O1 --fmad=false")).code, Code::Unsupported);
  EXPECT_THAT(errorOf(parseCudaAssembly("-O1 --fmad=false")).message,
              HasSubstr("flag '--fmad=false' is unknown to the driver's assembler"));
  for (const char *flags : {"-O5", "-O", "-Ox", "-maxrregcount", "-maxrregcount=256",
                            "-maxrregcount=-1", "--maxrregcount=12k"})
    EXPECT_EQ(errorOf(parseCudaAssembly(flags)).code, Code::InvalidArgument) << flags;
}

TEST_F(CudaDriver, OnlyCudaDevicesHaveAnAssembler) {
  DriverRegistry registry;
  ASSERT_TRUE(addNullDriver(registry).has_value());
  auto device = registry.find("null").value()->open(0, {}).value();
  EXPECT_EQ(errorOf(setCudaAssembly(*device, {})).code, Code::Unsupported);
}

TEST_F(CudaDriver, ALaunchPassesAddressesThenScalars) {
  open();
  auto memory = device_->allocate(64).value();
  auto kernel = module_->kernel({"count_points", 1, 2, 0, 96, 1024}).value();
  const BufferBinding bindings[] = {{memory.get(), 16}};
  ASSERT_TRUE(stream_->launch(*kernel, {2, 3, 1}, bindings, {{0, -5}}).has_value());
  ASSERT_TRUE(stream_->synchronize().has_value());
  const fake::Launch &launch = fake::library().launches.back();
  EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{2, 3, 1}));
  EXPECT_EQ(launch.threads, 96u);
  EXPECT_EQ(launch.sharedBytes, 1024u);
  ASSERT_EQ(launch.parameters.size(), 3u);
  EXPECT_EQ((launch.parameters[0] - 16) % 256, 0u);
  EXPECT_EQ(launch.parameters[1], 0u);
  EXPECT_EQ(launch.parameters[2], uint64_t(-5));
}

TEST_F(CudaDriver, ProgramsOfSeveralBlocksMultiplyTheGrid) {
  fake::library().functions.at("do_nothing").clusterWidth = 8;
  open();
  auto nothing = module_->kernel({"do_nothing", 0, 0}).value();
  ASSERT_TRUE(stream_->launch(*nothing, {2, 3, 1}, {}, {}).has_value());
  ASSERT_TRUE(stream_->synchronize().has_value());
  EXPECT_EQ(fake::library().launches.back().grid, (std::array<uint32_t, 3>{16, 3, 1}));
  EXPECT_THAT(errorOf(stream_->launch(*nothing, {int64_t(1) << 28, 1, 1}, {}, {})).message,
              HasSubstr("2147483648 programs in dimension 0"));
}

TEST_F(CudaDriver, KernelsThatWaitByThemselvesMayOverlap) {
  fake::library().version = 12030;
  open();
  for (const bool waits : {false, true}) {
    KernelSpec spec{"do_nothing"};
    spec.overlaps = waits;
    ASSERT_TRUE(stream_->launch(*module_->kernel(spec).value(), {1, 1, 1}, {}, {}).has_value());
    EXPECT_EQ(fake::library().launches.back().mayOverlap, waits);
  }
  ASSERT_TRUE(stream_->synchronize().has_value());
}

TEST_F(CudaDriver, NothingOverlapsBeforeVersion123WhereGraphsCannot) {
  fake::library().version = 12020;
  open();
  KernelSpec spec{"do_nothing"};
  spec.overlaps = true;
  ASSERT_TRUE(stream_->launch(*module_->kernel(spec).value(), {1, 1, 1}, {}, {}).has_value());
  EXPECT_FALSE(fake::library().launches.back().mayOverlap);
  ASSERT_TRUE(stream_->synchronize().has_value());
}

TEST_F(CudaDriver, AGridBeyondTheDevicesIsRefusedWithTheNumbers) {
  open();
  auto nothing = module_->kernel({"do_nothing", 0, 0}).value();
  for (const Grid &grid : {Grid{1, 65536, 1}, Grid{1, 1, 65536}}) {
    const Status error = errorOf(stream_->launch(*nothing, grid, {}, {}));
    EXPECT_EQ(error.code, Code::InvalidArgument);
    EXPECT_THAT(error.message, AllOf(HasSubstr("65536 programs"), HasSubstr("at most 65535")));
  }
  EXPECT_THAT(errorOf(stream_->launch(*nothing, {int64_t(1) << 31, 1, 1}, {}, {})).message,
              AllOf(HasSubstr("2147483648 programs in dimension 0"), HasSubstr("2147483647")));
}

TEST_F(CudaDriver, AContextIsMadeCurrentOnce) {
  open();
  auto nothing = module_->kernel({"do_nothing", 0, 0}).value();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(stream_->launch(*nothing, {1, 1, 1}, {}, {}).has_value());
  EXPECT_EQ(fake::library().setCurrentCalls, 1);
}

TEST_F(CudaDriver, AThreadOfAnotherContextGetsThisOne) {
  open();
  fake::library().current = false;
  EXPECT_TRUE(device_->allocate(8).has_value());
}

TEST_F(CudaDriver, MemoryCodeKernelsAndTransfersOfOthersGoOnBesideACapture) {
  open();
  auto other = device_->createStream().value();
  auto memory = device_->allocate(8).value();
  std::vector<uint8_t> bytes(8);
  auto nothing = module_->kernel({"do_nothing", 0, 0}).value();
  ASSERT_TRUE(stream_->beginCapture().has_value());
  EXPECT_TRUE(device_->allocate(8).has_value());
  EXPECT_TRUE(device_->loadModule("cuda:sm_80", bytesOf(kPtx)).has_value());
  EXPECT_TRUE(module_->kernel({"do_nothing", 0, 0}).has_value());
  EXPECT_TRUE(other->write(*memory, 0, bytes).has_value());
  EXPECT_TRUE(other->read(*memory, 0, bytes).has_value());
  EXPECT_TRUE(other->synchronize().has_value());
  ASSERT_TRUE(stream_->launch(*nothing, {1, 1, 1}, {}, {}).has_value());
  EXPECT_TRUE(stream_->endCapture().has_value());
}

TEST_F(CudaDriver, AStreamMayEndInTheMiddleOfACapture) {
  open();
  ASSERT_TRUE(stream_->beginCapture().has_value());
  closeAll();
  EXPECT_EQ(fake::library().living(), 0);
}

TEST_F(CudaDriver, EverythingIsReleased) {
  open();
  {
    auto memory = device_->allocate(100).value();
    auto event = device_->createEvent().value();
    auto kernel = module_->kernel({"do_nothing", 0, 0}).value();
    ASSERT_TRUE(stream_->write(*memory, 0, std::vector<uint8_t>(100)).has_value());
    ASSERT_TRUE(stream_->record(*event).has_value());
    ASSERT_TRUE(stream_->beginCapture().has_value());
    auto graph = stream_->endCapture().value();
    EXPECT_GT(fake::library().living(), 10);
    ASSERT_TRUE(stream_->synchronize().has_value());
  }
  closeAll();
  EXPECT_EQ(fake::library().living(), 0);
}

TEST_F(CudaDriver, AStreamEndsAfterTheTransfersThatUseItsPinnedMemory) {
  open();
  auto memory = device_->allocate(100).value();
  ASSERT_TRUE(stream_->write(*memory, 0, std::vector<uint8_t>(100)).has_value());
  stream_.reset();
  EXPECT_EQ(fake::library().abandoned, 0u);
}

TEST_F(CudaDriver, AFaultLosesTheDeviceAndLaterCallsNameIt) {
  open();
  auto memory = device_->allocate(100).value();
  auto nothing = module_->kernel({"do_nothing", 0, 0}).value();
  fake::library().failing = cuda::kIllegalAddress;
  const Status first = errorOf(stream_->synchronize());
  EXPECT_EQ(first.code, Code::DeviceLost);
  EXPECT_EQ(first.message, "device 'a fake': cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS: in "
                           "its words");
  fake::library().failing = cuda::kInvalidValue;
  std::vector<uint8_t> bytes(100);
  for (const Status &later :
       {errorOf(stream_->launch(*nothing, {1, 1, 1}, {}, {})), errorOf(stream_->synchronize()),
        errorOf(stream_->write(*memory, 0, bytes)), errorOf(stream_->read(*memory, 0, bytes)),
        errorOf(stream_->fill(*memory, 0, 1, 1)), errorOf(stream_->copy(*memory, 0, *memory, 4, 4)),
        errorOf(stream_->beginCapture()), errorOf(device_->allocate(1)),
        errorOf(device_->createStream()), errorOf(device_->createEvent()),
        errorOf(module_->kernel({"do_nothing", 0, 0})), targetError("cuda:sm_80")}) {
    EXPECT_EQ(later.code, Code::DeviceLost);
    EXPECT_EQ(later.message, "device 'a fake' was lost before: cuStreamSynchronize: "
                             "CUDA_ERROR_ILLEGAL_ADDRESS: in its words");
  }
}

TEST_F(CudaDriver, ALostDevicesContextIsGivenBack) {
  open();
  auto memory = device_->allocate(100).value();
  fake::library().failing = cuda::kIllegalAddress;
  EXPECT_EQ(errorOf(stream_->synchronize()).code, Code::DeviceLost);
  memory.reset();
  closeAll();
  EXPECT_EQ(fake::library().contexts, 0);
}

TEST_F(CudaDriver, AnErrorOfOneCallDoesNotLoseTheDevice) {
  open();
  EXPECT_EQ(errorOf(device_->allocate(UINT64_MAX)).code, Code::Exhausted);
  EXPECT_EQ(kernelError({"absent", 0, 0}).code, Code::NotFound);
  EXPECT_TRUE(stream_->synchronize().has_value());
}

TEST_F(CudaDriver, AHungDeviceIsLostAfterTheWatchdogsTimeAndNothingWaitsForItAgain) {
  open(0.05);
  auto memory = device_->allocate(100).value();
  fake::library().hangs = true;
  const Status error = errorOf(stream_->synchronize());
  EXPECT_EQ(error.code, Code::DeviceLost);
  EXPECT_THAT(error.message, HasSubstr("did not end within the 0.05"));
  EXPECT_EQ(errorOf(stream_->synchronize()).code, Code::DeviceLost);
  memory.reset();
  closeAll();
  EXPECT_EQ(fake::library().waitsForEver, 0);
}

TEST_F(CudaDriver, AReadFromAHungDeviceEndsToo) {
  open(0.05);
  auto memory = device_->allocate(100).value();
  fake::library().hangs = true;
  std::vector<uint8_t> bytes(100);
  EXPECT_EQ(errorOf(stream_->read(*memory, 0, bytes)).code, Code::DeviceLost);
}

TEST_F(CudaDriver, AReadbackWaitsForNoLaterCommand) {
  open();
  auto memory = device_->allocate(4).value();
  auto readback = device_->createReadback(4).value();
  ASSERT_TRUE(stream_->fill(*memory, 0, 4, 1).has_value());
  ASSERT_TRUE(stream_->beginRead(*memory, 0, 4, *readback, 0).has_value());
  ASSERT_TRUE(stream_->fill(*memory, 0, 4, 2).has_value());
  EXPECT_EQ(readback->wait().value()[3], 1);
  const auto &address = *fake::library().buffers.begin();
  EXPECT_EQ(fake::at<uint8_t>(address.first), 1) << "it waited for the second fill";
  ASSERT_TRUE(stream_->synchronize().has_value()); // before the memory goes
}

TEST_F(CudaDriver, AReadbackEndsAfterTheTransfersThatFillIt) {
  open();
  auto memory = device_->allocate(4).value();
  auto readback = device_->createReadback(4).value();
  ASSERT_TRUE(stream_->beginRead(*memory, 0, 4, *readback, 0).has_value());
  readback.reset();
  stream_.reset();
  EXPECT_EQ(fake::library().abandoned, 0u);
}

TEST_F(CudaDriver, AReadbackFromAHungDeviceEndsToo) {
  open(0.05);
  auto memory = device_->allocate(4).value();
  auto readback = device_->createReadback(4).value();
  ASSERT_TRUE(stream_->beginRead(*memory, 0, 4, *readback, 0).has_value());
  fake::library().hangs = true;
  EXPECT_EQ(errorOf(readback->wait()).code, Code::DeviceLost);
}

TEST_F(CudaDriver, AWriteOfManySegmentsKeepsItsOrderAndBytes) {
  open();
  std::vector<uint8_t> bytes((40 << 20) + 12345), found(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  auto memory = device_->allocate(bytes.size()).value();
  ASSERT_TRUE(stream_->write(*memory, 0, bytes).has_value());
  ASSERT_TRUE(stream_->read(*memory, 0, found).has_value());
  EXPECT_TRUE(found == bytes);
}

TEST_F(CudaDriver, AnEventNotRecordedHasNoTime) {
  open();
  auto start = device_->createEvent().value(), end = device_->createEvent().value();
  ASSERT_TRUE(stream_->record(*start).has_value());
  EXPECT_EQ(errorOf(end->nanosecondsSince(*start)).code, Code::InvalidArgument);
  ASSERT_TRUE(stream_->record(*end).has_value());
  EXPECT_EQ(end->nanosecondsSince(*start).value(), 1500000u);
}

} // namespace
} // namespace sinter::hal
