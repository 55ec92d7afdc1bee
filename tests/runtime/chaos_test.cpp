// Plans executed on devices that fail on purpose: each fault is one clear error, the executor goes
// on where the device does, and everything is released. The second device is the cuda driver over a
// library of the tests' own, which captures graphs and runs commands late.
#include "runtime/executor.h"

#include "hal/chaos/chaos_driver.h"
#include "hal/cpu/cpu_driver.h"
#include "hal/fake_cuda.h"
#include "runtime/vector_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::runtime {
namespace {

constexpr int64_t kCount = 100;

struct Inner {
  const char *name;
  Result<void> (*add)(hal::DriverRegistry &);
  plan::Plan (*plan)();
};

plan::Plan cudaPlan() {
  plan::Plan plan = vectorPlan();
  const std::string_view text = ".version 7.0\n.target sm_80\n";
  plan.modules = {{"cuda:sm_80", {text.begin(), text.end()}}};
  for (plan::Kernel &kernel : plan.kernels)
    kernel.scratchBytes = 0;
  return plan;
}

const Inner kInners[] = {{"Cpu", hal::addCpuDriver, vectorPlan},
                         {"CudaOnAFakeLibrary", hal::fake::addFakeCuda, cudaPlan}};

class RuntimeChaos : public ::testing::TestWithParam<Inner> {
protected:
  RuntimeChaos() { source_.tensors["w"] = bytesOf(std::vector<float>(kMaxN, 2.0f)); }
  ~RuntimeChaos() override { hal::fake::library() = {}; }

  // Loads the plan and runs its step `steps` times on a device with `faults`; the result of each.
  std::vector<Result<void>> run(const hal::ChaosFaults &faults, int steps) {
    hal::DriverRegistry registry, inner;
    EXPECT_TRUE(GetParam().add(inner).has_value());
    EXPECT_TRUE(hal::addChaosDriver(registry, std::move(inner), faults, ledger_).has_value());
    const auto device = registry.find("chaos").value()->open(0, {1}).value();
    auto executor =
        Executor::create(*device, std::make_shared<const plan::Plan>(GetParam().plan()), &source_);
    if (!executor)
      return {Fail(std::move(executor).error())};
    std::vector<Result<void>> results;
    for (int i = 0; i < steps; ++i)
      results.push_back(step(**executor));
    return results;
  }
  static Result<void> step(Executor &executor) {
    SINTER_TRY(executor.bind(std::vector<int64_t>{kCount, 0}));
    SINTER_TRY(executor.setBuffer("x", bytesOf(std::vector<float>(kCount, 1.0f))));
    SINTER_TRY(executor.run("step"));
    std::vector<uint8_t> bytes(kCount * sizeof(float));
    SINTER_TRY(executor.readBuffer("y", bytes));
    EXPECT_EQ(floatsOf(bytes), std::vector<float>(kCount, 9.0f));
    return {};
  }

  MapSource source_;
  std::shared_ptr<hal::ChaosLedger> ledger_ = std::make_shared<hal::ChaosLedger>();
};

TEST_P(RuntimeChaos, WithoutFaultsEveryStepRuns) {
  const auto results = run({}, 3);
  ASSERT_EQ(results.size(), 3u);
  for (const auto &result : results)
    EXPECT_TRUE(result.has_value()) << result.error().toString();
  EXPECT_EQ(ledger_->living(), 0);
}

TEST_P(RuntimeChaos, ALostDeviceIsTheErrorOfEveryStepFromThenOn) {
  ASSERT_TRUE(run({}, 3).back().has_value());
  const uint64_t commands = ledger_->commands;
  ASSERT_GT(commands, 10u);
  for (uint64_t n = 0; n + 1 < commands; ++n) {
    const auto result = run({.lostFromCommand = n}, 3).back();
    ASSERT_FALSE(result.has_value()) << n;
    EXPECT_EQ(result.error().code, Code::DeviceLost) << n;
    EXPECT_THAT(result.error().message, ::testing::HasSubstr("chaos: the device is lost")) << n;
    EXPECT_EQ(ledger_->living(), 0) << n;
  }
}

TEST_P(RuntimeChaos, AStepThatMeetsNoFaultRunsAfterOnesThatDid) {
  int recovered = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto results = run({.seed = seed, .allocation = 0.1, .launch = 0.1}, 6);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i])
        recovered += i > 0 && !results[i - 1];
      else
        EXPECT_THAT(results[i].error().message, ::testing::HasSubstr("chaos: ")) << seed;
    EXPECT_EQ(ledger_->living(), 0) << seed;
  }
  EXPECT_GT(recovered, 10);
}

// Two steps under way, each with an input and an output of its own and other sizes; with the fewest
// bindings and with some. What the last one read is right unless something failed before.
Result<void> runAhead(Executor &executor, hal::Device &device) {
  std::vector<std::unique_ptr<hal::Readback>> readbacks;
  const auto countOf = [](size_t step) { return kCount + 50 * int64_t(step % 3); };
  for (size_t step = 0; step < 7; ++step) {
    const int64_t count = countOf(step);
    SINTER_TRY(executor.bind(std::vector<int64_t>{count, 0}));
    const std::vector<float> x(static_cast<size_t>(count), float(step));
    SINTER_TRY(executor.setBuffer("x", bytesOf(x)));
    SINTER_TRY(executor.begin({0}));
    SINTER_ASSIGN(auto readback, device.createReadback(uint64_t(count) * sizeof(float)));
    readbacks.push_back(std::move(readback));
    SINTER_TRY(executor.beginRead(kY, 0, uint64_t(count) * sizeof(float), *readbacks.back(), 0));
    if (step == 0)
      continue;
    SINTER_ASSIGN(const auto bytes, readbacks[step - 1]->wait());
    EXPECT_EQ(floatsOf(bytes),
              std::vector<float>(bytes.size() / sizeof(float), (float(step) - 1 + 2) * 3));
  }
  return executor.wait();
}

TEST_P(RuntimeChaos, StepsThatAreBegunReadBackTheirOwnOutputsUntilTheDeviceIsLost) {
  for (const uint32_t bindings : {1u, 8u}) {
    const auto run = [&](std::optional<uint64_t> lost) {
      hal::DriverRegistry registry, inner;
      EXPECT_TRUE(GetParam().add(inner).has_value());
      const hal::ChaosFaults faults{.lostFromCommand = lost};
      EXPECT_TRUE(hal::addChaosDriver(registry, std::move(inner), faults, ledger_).has_value());
      const auto device = registry.find("chaos").value()->open(0, {1}).value();
      auto executor =
          Executor::create(*device, std::make_shared<const plan::Plan>(GetParam().plan()), &source_,
                           {.bindingsKept = bindings});
      return executor ? runAhead(**executor, *device) : Fail(executor.error());
    };
    const uint64_t before = ledger_->commands;
    const auto whole = run(std::nullopt);
    EXPECT_TRUE(whole.has_value()) << whole.error().toString();
    const uint64_t commands = ledger_->commands - before;
    for (uint64_t lost = 0; lost + 1 < commands; ++lost) {
      const auto ended = run(lost);
      ASSERT_FALSE(ended.has_value()) << lost;
      EXPECT_EQ(ended.error().code, Code::DeviceLost) << lost;
      EXPECT_EQ(ledger_->living(), 0) << lost;
    }
  }
}

TEST_P(RuntimeChaos, CodeThatDoesNotLoadIsTheErrorOfCreation) {
  const auto results = run({.moduleLoad = 1}, 1);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].error().code, Code::Corrupt);
  EXPECT_EQ(ledger_->living(), 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, RuntimeChaos, ::testing::ValuesIn(kInners),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sinter::runtime
