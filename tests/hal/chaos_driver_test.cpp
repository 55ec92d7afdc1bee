// Faults of the chaos driver: the same for the same seed, one clear error each, and what lives is
// counted.
#include "hal/chaos/chaos_driver.h"
#include "hal/cpu/cpu_driver.h"

#include "hal/test_kernels.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::hal {
namespace {

class ChaosDriver : public ::testing::Test {
protected:
  std::unique_ptr<Device> open(const ChaosFaults &faults) {
    DriverRegistry registry, inner;
    EXPECT_TRUE(addCpuDriver(inner).has_value());
    EXPECT_TRUE(addChaosDriver(registry, std::move(inner), faults, ledger_).has_value());
    return registry.find("chaos").value()->open(0, {1}).value();
  }
  // Which of 200 allocations fail.
  std::vector<bool> failures(const ChaosFaults &faults) {
    auto device = open(faults);
    std::vector<bool> failed;
    for (int i = 0; i < 200; ++i)
      failed.push_back(!device->allocate(8).has_value());
    return failed;
  }

  std::shared_ptr<ChaosLedger> ledger_ = std::make_shared<ChaosLedger>();
};

TEST_F(ChaosDriver, TheSameSeedFailsTheSameCalls) {
  const auto first = failures({.seed = 7, .allocation = 0.5});
  EXPECT_EQ(first, failures({.seed = 7, .allocation = 0.5}));
  EXPECT_NE(first, failures({.seed = 8, .allocation = 0.5}));
}

TEST_F(ChaosDriver, AChanceIsAboutKept) {
  const auto failed = failures({.seed = 3, .allocation = 0.25});
  EXPECT_THAT(std::count(failed.begin(), failed.end(), true),
              ::testing::AllOf(::testing::Ge(25), ::testing::Le(75)));
}

TEST_F(ChaosDriver, AnAllocationFailsWithTheBytesAndTheSeed) {
  auto memory = open({.seed = 9, .allocation = 1})->allocate(1234);
  ASSERT_FALSE(memory.has_value());
  EXPECT_EQ(memory.error().code, Code::Exhausted);
  EXPECT_EQ(memory.error().message, "chaos: allocation of 1234 bytes fails with seed 9");
}

TEST_F(ChaosDriver, AModuleLoadFails) {
  auto module = open({.moduleLoad = 1})->loadModule(kTestTarget, testKernels());
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().code, Code::Corrupt);
}

TEST_F(ChaosDriver, ALaunchThatFailsRunsNothing) {
  auto device = open({.launch = 1});
  auto stream = device->createStream().value();
  auto memory = device->allocate(8).value();
  auto count =
      device->loadModule(kTestTarget, testKernels()).value()->kernel({"count_points", 1, 2});
  const BufferBinding bindings[] = {{memory.get(), 0}};
  EXPECT_EQ(stream->launch(**count, {1, 1, 1}, bindings, {{1, 1}}).error().code, Code::Internal);
  EXPECT_EQ(memory->host()[0], 0);
}

TEST_F(ChaosDriver, TheDeviceIsLostFromTheGivenCommandOn) {
  auto device = open({.lostFromCommand = 3});
  auto stream = device->createStream().value();
  auto memory = device->allocate(8).value();
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(stream->fill(*memory, 0, 8, 1).has_value());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(stream->synchronize().error().message, "chaos: the device is lost from command 3 on");
  EXPECT_EQ(device->allocate(8).error().code, Code::DeviceLost);
  EXPECT_EQ(device->createStream().error().code, Code::DeviceLost);
}

TEST_F(ChaosDriver, ALostDeviceChangesNothing) {
  auto device = open({.lostFromCommand = 0});
  auto stream = device->createStream().value();
  auto memory = device->allocate(8).value();
  EXPECT_EQ(stream->fill(*memory, 0, 8, 1).error().code, Code::DeviceLost);
  EXPECT_EQ(memory->host()[0], 0);
}

TEST_F(ChaosDriver, WhatLivesIsCounted) {
  auto device = open({});
  EXPECT_EQ(ledger_->living(), 1);
  {
    auto memory = device->allocate(8).value();
    auto module = device->loadModule(kTestTarget, testKernels()).value();
    auto kernel = module->kernel({"do_nothing", 0, 0}).value();
    auto stream = device->createStream().value();
    auto event = device->createEvent().value();
    EXPECT_EQ(ledger_->living(), 6);
    EXPECT_EQ(ledger_->buffers, 1);
  }
  EXPECT_EQ(ledger_->living(), 1);
  device.reset();
  EXPECT_EQ(ledger_->living(), 0);
}

TEST_F(ChaosDriver, FaultsAndCommandsAreCounted) {
  auto device = open({.allocation = 1});
  auto stream = device->createStream().value();
  EXPECT_FALSE(device->allocate(8).has_value());
  EXPECT_TRUE(stream->synchronize().has_value());
  EXPECT_EQ(ledger_->faults, 1u);
  EXPECT_EQ(ledger_->commands, 1u);
}

TEST_F(ChaosDriver, AChanceOutsideOfZeroToOneIsRefused) {
  for (double chance : {-0.1, 1.1, double(NAN)}) {
    DriverRegistry registry, inner;
    ASSERT_TRUE(addCpuDriver(inner).has_value());
    auto added = addChaosDriver(registry, std::move(inner), {.launch = chance});
    ASSERT_FALSE(added.has_value());
    EXPECT_EQ(added.error().code, Code::InvalidArgument);
  }
}

TEST_F(ChaosDriver, NothingToWrapIsRefused) {
  DriverRegistry registry;
  EXPECT_EQ(addChaosDriver(registry, DriverRegistry(), {}).error().message,
            "chaos has no driver to wrap, expected one");
}

} // namespace
} // namespace sinter::hal
