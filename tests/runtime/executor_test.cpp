// Plans executed end to end with two small C kernels, on every driver that executes and on the null
// driver.
#include "runtime/executor.h"

#include "hal/cpu/cpu_driver.h"
#include "hal/null/null_driver.h"
#include "runtime/vector_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/mman.h>

namespace sinter::runtime {
namespace {

using plan::Expr;

class ExecutorFixture : public ::testing::Test {
protected:
  void open(const char *driver, uint32_t threads) {
    ASSERT_TRUE(hal::addCpuDriver(registry_).has_value());
    ASSERT_TRUE(hal::addNullDriver(registry_).has_value());
    auto device = registry_.find(driver).value()->open(0, {threads});
    ASSERT_TRUE(device.has_value()) << device.error().toString();
    device_ = std::move(*device);
    std::vector<float> weight(kMaxN);
    std::iota(weight.begin(), weight.end(), 0.0f);
    source_.tensors["w"] = bytesOf(weight);
  }
  Result<std::unique_ptr<Executor>> tryCreate(plan::Plan plan, ExecutorOptions options = {}) {
    return Executor::create(*device_, std::make_shared<const plan::Plan>(std::move(plan)), &source_,
                            options);
  }
  void create(plan::Plan plan, ExecutorOptions options = {}) {
    auto executor = tryCreate(std::move(plan), options);
    ASSERT_TRUE(executor.has_value()) << executor.error().toString();
    executor_ = std::move(*executor);
  }
  void bind(int64_t n) {
    auto bound = executor_->bind(std::vector<int64_t>{n, 0});
    ASSERT_TRUE(bound.has_value()) << bound.error().toString();
  }
  // Binds n, sets x to all `x`, runs "step" and gives y.
  std::vector<float> step(int64_t n, float x) {
    bind(n);
    EXPECT_TRUE(executor_->setBuffer("x", bytesOf(std::vector<float>(std::size_t(n), x))));
    auto ran = executor_->run("step");
    EXPECT_TRUE(ran.has_value()) << (ran ? "" : ran.error().toString());
    return floatsOf(executor_->buffer("y").value());
  }
  static std::vector<float> expected(int64_t n, float x) {
    std::vector<float> y(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = (x + static_cast<float>(i)) * 3;
    return y;
  }
  std::vector<float> total() { return floatsOf(executor_->buffer("total").value()); }

  hal::DriverRegistry registry_;
  std::unique_ptr<hal::Device> device_;
  MapSource source_;
  std::unique_ptr<Executor> executor_;
};

class ExecutorTest : public ExecutorFixture, public ::testing::WithParamInterface<uint32_t> {
protected:
  void SetUp() override { open("cpu", GetParam()); }
};

TEST_P(ExecutorTest, TwoKernelsGiveTheRightNumbersAtOddSizes) {
  create(vectorPlan());
  for (int64_t n : {1, 15, 16, 17, 31, 1009, 4096})
    EXPECT_EQ(step(n, 2), expected(n, 2)) << n;
}

TEST_P(ExecutorTest, ASizeOfZeroRunsAndTouchesNothing) {
  create(vectorPlan());
  EXPECT_TRUE(step(0, 1).empty());
  EXPECT_EQ(step(5, 1), expected(5, 1));
}

TEST_P(ExecutorTest, StateIsZeroAtFirstAndKeptBetweenRuns) {
  create(vectorPlan());
  step(3, 0);
  EXPECT_EQ(total(), (std::vector<float>{0, 3, 6}));
  step(3, 0);
  EXPECT_EQ(total(), (std::vector<float>{0, 6, 12}));
}

TEST_P(ExecutorTest, StateKeepsItsContentsWhenItGrows) {
  create(vectorPlan());
  step(3, 0);
  step(5, 0);
  EXPECT_EQ(total(), (std::vector<float>{0, 6, 12, 9, 12}));
  step(4000, 0);
  EXPECT_EQ(total()[2], 18);
  EXPECT_EQ(total()[3999], 3 * 3999);
}

TEST_P(ExecutorTest, ClearedStateIsZero) {
  create(vectorPlan());
  step(3, 0);
  ASSERT_TRUE(executor_->clearState().has_value());
  EXPECT_EQ(total(), (std::vector<float>{0, 0, 0}));
}

TEST_P(ExecutorTest, ManyBindingsInTurnStayRight) {
  create(vectorPlan(), {.bindingsKept = 2});
  for (int round = 0; round < 3; ++round)
    for (int64_t n : {7, 100, 30, 7, 64})
      EXPECT_EQ(step(n, 1), expected(n, 1)) << n;
}

TEST_P(ExecutorTest, ARepeatedBindingKeepsItsCommands) {
  create(vectorPlan());
  step(100, 1);
  const CommandList *first = executor_->commands(plan::ProcedureId{0}).value();
  bind(50);
  bind(100);
  EXPECT_EQ(executor_->commands(plan::ProcedureId{0}).value(), first);
}

TEST_P(ExecutorTest, ABindingThatWasDroppedIsMadeAgain) {
  create(vectorPlan(), {.bindingsKept = 1});
  EXPECT_EQ(step(100, 1), expected(100, 1));
  EXPECT_EQ(step(50, 1), expected(50, 1));
  EXPECT_EQ(step(100, 1), expected(100, 1));
}

TEST_P(ExecutorTest, TemporariesThatDoNotMeetShareTheArena) {
  plan::Plan plan = vectorPlan();
  auto &steps = plan.procedures[0].steps;
  steps = {{addLaunch(kX, kW, kSum)},
           {addLaunch(kSum, kW, kY)},
           {addLaunch(kX, kW, kScaled)},
           {addLaunch(kScaled, kY, kY)}};
  create(std::move(plan));
  const auto y = step(16, 1);
  EXPECT_EQ(executor_->memory().arena, 64u);
  EXPECT_EQ(y[2], (1 + 2 + 2) + (1 + 2));
}

TEST_P(ExecutorTest, ALoopWithACallRunsAsOftenAsItSays) {
  plan::Plan plan = vectorPlan();
  plan.procedures[1].steps = {{addLaunch(kTotal, kW, kTotal)}};
  plan.procedures[0].steps = {{plan::Loop{kRound, Expr(5), {{plan::Call{plan::ProcedureId{1}}}}}}};
  create(std::move(plan));
  step(4, 0);
  EXPECT_EQ(total(), (std::vector<float>{0, 5, 10, 15}));
}

TEST_P(ExecutorTest, AnInterleavedWeightReachesTheKernelPacked) {
  plan::Plan plan = vectorPlan();
  // Two rows of two floats, from two tensors, interleaved: a0 b0 a1 b1.
  plan.buffers[kW.index].tensors = {"a", "b"};
  plan.buffers[kW.index].pack = {plan::PackMode::Interleave, 2, 4, 2,
                                 plan::consecutive({{0, 4, 4, 0}})};
  plan.buffers[kW.index].bytes = Expr(16);
  source_.tensors["a"] = bytesOf({1, 2});
  source_.tensors["b"] = bytesOf({10, 20});
  create(std::move(plan));
  EXPECT_EQ(step(4, 0), (std::vector<float>{3, 30, 6, 60}));
  EXPECT_EQ(executor_->memory().weights, 16u);
  EXPECT_EQ(executor_->memory().mapped, 0u);
}

TEST_P(ExecutorTest, ALargeDirectWeightIsNotCopied) {
  plan::Plan plan = vectorPlan();
  std::vector<float> weight(std::size_t(1) << 19);
  weight[2] = 7;
  source_.tensors["w"] = bytesOf(weight);
  plan.buffers[kW.index].bytes = Expr(int64_t(1) << 21);
  create(std::move(plan));
  EXPECT_EQ(executor_->memory().weights, 0u);
  EXPECT_EQ(executor_->memory().mapped, uint64_t(1) << 21);
  EXPECT_EQ(step(3, 1), (std::vector<float>{3, 3, 24}));
}

// Memory that is reserved and cannot be read.
class UnreadableSource final : public WeightSource {
public:
  explicit UnreadableSource(uint64_t bytes)
      : bytes_(bytes),
        room_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  }
  ~UnreadableSource() override { munmap(room_, bytes_); }
  bool made() const { return room_ != MAP_FAILED; }
  Result<std::span<const uint8_t>> tensor(std::string_view) override {
    return std::span(static_cast<const uint8_t *>(room_), bytes_);
  }

private:
  uint64_t bytes_;
  void *room_;
};

TEST_P(ExecutorTest, WeightsLargerThanMemoryAreRefusedBeforeAnyIsRead) {
  if (device_->info().memoryBytes == 0)
    GTEST_SKIP() << "the device tells no memory";
  const uint64_t most = device_->info().memoryBytes, half = (most / 2 + 4096) / 4096 * 4096;
  UnreadableSource source(half);
  ASSERT_TRUE(source.made());
  plan::Plan plan = vectorPlan();
  plan.buffers[kW.index].tensors = {"a", "b"};
  plan.buffers[kW.index].bytes = Expr(static_cast<int64_t>(2 * half));
  auto made =
      Executor::create(*device_, std::make_shared<const plan::Plan>(std::move(plan)), &source);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::Exhausted);
  EXPECT_EQ(made.error().message, "the model's weights take " + std::to_string(2 * half) +
                                      " bytes, device '" + device_->info().name + "' has " +
                                      std::to_string(most));
}

TEST_P(ExecutorTest, ASmallDirectWeightIsCopied) {
  create(vectorPlan());
  EXPECT_EQ(executor_->memory().weights, uint64_t(kMaxN) * 4);
  EXPECT_EQ(executor_->memory().mapped, 0u);
}

TEST_P(ExecutorTest, AConstantReachesTheKernel) {
  plan::Plan plan = vectorPlan();
  plan.buffers[kW.index] = {"w", plan::BufferKind::Constant, Expr(12), {}, {}, bytesOf({5, 6, 7})};
  create(std::move(plan));
  EXPECT_EQ(step(3, 1), (std::vector<float>{18, 21, 24}));
}

TEST_P(ExecutorTest, AttachedMemoryIsReadAndWrittenInPlace) {
  create(vectorPlan());
  std::vector<float> x = {1, 2, 3}, y(3);
  auto wrapped = [&](std::vector<float> &values) -> std::shared_ptr<hal::Buffer> {
    return device_->wrap({reinterpret_cast<uint8_t *>(values.data()), 12}).value();
  };
  ASSERT_TRUE(executor_->attachBuffer("x", wrapped(x)).has_value());
  ASSERT_TRUE(executor_->attachBuffer("y", wrapped(y)).has_value());
  bind(3);
  ASSERT_TRUE(executor_->run("step").has_value());
  EXPECT_EQ(y, (std::vector<float>{3, 9, 15}));
}

TEST_P(ExecutorTest, ABindingLargerThanAttachedMemoryIsRefused) {
  create(vectorPlan());
  bind(3);
  ASSERT_TRUE(executor_->attachBuffer("x", device_->allocate(12).value()).has_value());
  auto bound = executor_->bind(std::vector<int64_t>{4, 0});
  ASSERT_FALSE(bound.has_value());
  EXPECT_EQ(bound.error().message, "buffer 'x' needs 16 bytes, the memory attached to it has 12");
  EXPECT_TRUE(executor_->run("step").has_value());
}

TEST_P(ExecutorTest, AttachedMemoryThatIsTooSmallOrReadOnlyIsRefused) {
  create(vectorPlan());
  bind(3);
  EXPECT_FALSE(executor_->attachBuffer("x", device_->allocate(11).value()).has_value());
  const std::vector<uint8_t> bytes(12);
  EXPECT_FALSE(executor_->attachBuffer("y", device_->wrapReadOnly(bytes).value()).has_value());
  EXPECT_TRUE(executor_->attachBuffer("x", device_->wrapReadOnly(bytes).value()).has_value());
}

TEST_P(ExecutorTest, AnAttachedBufferThatBecameTooSmallForAnOldBindingIsRefused) {
  create(vectorPlan());
  bind(100);
  bind(3);
  ASSERT_TRUE(executor_->attachBuffer("x", device_->allocate(12).value()).has_value());
  EXPECT_EQ(executor_->bind(std::vector<int64_t>{100, 0}).error().code, Code::Exhausted);
}

TEST_P(ExecutorTest, SymbolsOutsideOfTheirBoundsAreRefusedAndTheFormerBindingHolds) {
  create(vectorPlan());
  step(3, 1);
  for (int64_t n : {int64_t(-1), kMaxN + 1, INT64_MAX}) {
    auto bound = executor_->bind(std::vector<int64_t>{n, 0});
    ASSERT_FALSE(bound.has_value());
    EXPECT_EQ(bound.error().message,
              "symbol 'n' is " + std::to_string(n) + ", allowed is 0 to 4096");
  }
  EXPECT_EQ(executor_->buffer("y").value().size(), 12u);
}

TEST_P(ExecutorTest, AnotherNumberOfSymbolsIsRefused) {
  create(vectorPlan());
  EXPECT_EQ(executor_->bind(std::vector<int64_t>{1}).error().message,
            "1 symbol values given, expected 2");
}

TEST_P(ExecutorTest, TheValueGivenForALoopsSymbolIsIgnored) {
  plan::Plan plan = vectorPlan();
  plan.procedures[1].steps = {{plan::Loop{kRound, Expr(1), {}}}};
  create(std::move(plan));
  EXPECT_TRUE(executor_->bind(std::vector<int64_t>{1, -100}).has_value());
}

TEST_P(ExecutorTest, ANegativeBufferSizeIsRefusedByName) {
  plan::Plan plan = vectorPlan();
  plan.buffers[kSum.index].bytes = plan::add(plan::symbol(kN), Expr(-10));
  create(std::move(plan));
  EXPECT_EQ(executor_->bind(std::vector<int64_t>{3, 0}).error().message,
            "buffer 'sum' has -7 bytes, expected at least 0");
}

TEST_P(ExecutorTest, BuffersBeyondAllMemoryAreRefusedAndTheExecutorGoesOn) {
  plan::Plan plan = vectorPlan();
  plan.buffers[kTotal.index].bytes = plan::mul(plan::symbol(kN), Expr(int64_t(1) << 50));
  plan.buffers[kSum.index].bytes = plan::maxOf(plan::symbol(kN), Expr(64));
  create(std::move(plan));
  auto bound = executor_->bind(std::vector<int64_t>{3, 0});
  ASSERT_FALSE(bound.has_value());
  EXPECT_EQ(bound.error().code, Code::Exhausted);
  EXPECT_THAT(bound.error().message, ::testing::StartsWith("buffer 'total': no memory for"));
  EXPECT_TRUE(executor_->bind(std::vector<int64_t>{0, 0}).has_value());
}

TEST_P(ExecutorTest, AnArenaBeyondAllMemoryIsRefused) {
  plan::Plan plan = vectorPlan();
  plan.buffers[kSum.index].bytes = Expr(int64_t(1) << 60);
  create(std::move(plan));
  bind(3);
  auto ran = executor_->run("step");
  ASSERT_FALSE(ran.has_value());
  EXPECT_THAT(ran.error().message, ::testing::StartsWith("temporary buffers: no memory for"));
  EXPECT_TRUE(executor_->run("empty").has_value());
}

TEST_P(ExecutorTest, ARunBeforeABindingIsRefused) {
  create(vectorPlan());
  EXPECT_EQ(executor_->run("step").error().message,
            "procedure 'step' was run before its symbols were bound");
}

TEST_P(ExecutorTest, UnknownNamesAreNotFound) {
  create(vectorPlan());
  bind(1);
  EXPECT_EQ(executor_->run("absent").error().code, Code::NotFound);
  EXPECT_EQ(executor_->buffer("absent").error().code, Code::NotFound);
}

TEST_P(ExecutorTest, WeightsAndTemporariesAreNotTheHosts) {
  create(vectorPlan());
  bind(1);
  EXPECT_EQ(executor_->buffer("sum").error().message,
            "buffer 'sum' is a temp, expected an input, an output or a state");
  EXPECT_EQ(executor_->buffer("w").error().code, Code::InvalidArgument);
}

TEST_P(ExecutorTest, MoreBytesThanABufferHasAreRefused) {
  create(vectorPlan());
  EXPECT_FALSE(executor_->setBuffer("x", bytesOf({1})).has_value());
  bind(1);
  EXPECT_FALSE(executor_->setBuffer("x", bytesOf({1, 2})).has_value());
  std::vector<uint8_t> bytes(5);
  EXPECT_FALSE(executor_->readBuffer("y", bytes).has_value());
}

TEST_P(ExecutorTest, AMissingTensorIsNamed) {
  source_.tensors.clear();
  auto executor = tryCreate(vectorPlan());
  ASSERT_FALSE(executor.has_value());
  EXPECT_EQ(executor.error().message, "weight 'w': the model has no tensor 'w'");
}

TEST_P(ExecutorTest, ATensorOfAnotherSizeIsRefused) {
  source_.tensors["w"].pop_back();
  EXPECT_EQ(tryCreate(vectorPlan()).error().message,
            "weight 'w': the model's tensors give 16383 bytes, the plan expects 16384");
}

TEST_P(ExecutorTest, APlanWithWeightsNeedsAModel) {
  auto plan = std::make_shared<const plan::Plan>(vectorPlan());
  EXPECT_EQ(Executor::create(*device_, plan, nullptr).error().message,
            "the plan has weight 'w', but no model file was given");
}

TEST_P(ExecutorTest, APlanForSeveralDevicesIsRefusedWithTheirNames) {
  plan::Plan plan = vectorPlan();
  plan.devices = {{"left"}, {"right"}};
  const auto made = tryCreate(std::move(plan));
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::Unsupported);
  EXPECT_EQ(made.error().message, "the plan is for 2 devices ('left', 'right'), expected one");
}

// n is what the device holds in "count", which procedure "choose" sets to `next`.
plan::Plan computingPlan(int32_t next) {
  plan::Plan plan = vectorPlan();
  const auto number = reinterpret_cast<const uint8_t *>(&next);
  const plan::BufferId count{6}, chosen{7};
  plan.buffers.push_back({"count", plan::BufferKind::State, plan::Expr(8), {}, {}, {}});
  plan.buffers.push_back(
      {"next", plan::BufferKind::Constant, plan::Expr(4), {}, {}, {number, number + 4}});
  plan.symbols[0].computed = plan::DeviceScalar{count, 4};
  plan.procedures.push_back(
      {"choose", {{plan::Copy{chosen, plan::Expr(0), count, plan::Expr(4), plan::Expr(4)}}}});
  return plan;
}

TEST_P(ExecutorTest, AComputedSymbolIsReadBetweenProcedures) {
  create(computingPlan(17));
  bind(5); // which counts for nothing
  EXPECT_TRUE(executor_->buffer("y")->empty());
  ASSERT_TRUE(executor_->run("choose"));
  ASSERT_TRUE(executor_->run("empty"));
  ASSERT_TRUE(executor_->setBuffer("x", bytesOf(std::vector<float>(17, 2))));
  for (int run = 0; run < 3; ++run) { // recorded as a graph on the way
    ASSERT_TRUE(executor_->run("step"));
    EXPECT_EQ(floatsOf(executor_->buffer("y").value()), expected(17, 2));
  }
  ASSERT_TRUE(executor_->clearState());
  ASSERT_TRUE(executor_->run("step"));
  EXPECT_TRUE(executor_->buffer("y")->empty());
}

TEST_P(ExecutorTest, AComputedSymbolOutOfItsBoundsIsRefusedAndTheFormerBindingHolds) {
  for (const int32_t next : {-1, static_cast<int32_t>(kMaxN) + 1}) {
    create(computingPlan(next));
    bind(0);
    ASSERT_TRUE(executor_->run("choose"));
    const auto ran = executor_->run("step");
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, Code::InvalidArgument);
    EXPECT_EQ(ran.error().message,
              "computed symbol 'n' is " + std::to_string(next) + ", allowed is 0 to 4096");
    ASSERT_TRUE(executor_->clearState());
    EXPECT_TRUE(executor_->run("step"));
  }
}

TEST_P(ExecutorTest, AnInvalidPlanIsRefused) {
  plan::Plan plan = vectorPlan();
  plan.kernels[0].module.index = 3;
  EXPECT_EQ(tryCreate(std::move(plan)).error().code, Code::Corrupt);
}

TEST_P(ExecutorTest, AKernelThatTheCodeLacksIsNotFound) {
  plan::Plan plan = vectorPlan();
  plan.kernels[0].symbol = "absent";
  EXPECT_EQ(tryCreate(std::move(plan)).error().code, Code::NotFound);
}

TEST_P(ExecutorTest, CodeForAnotherTargetIsUnsupported) {
  plan::Plan plan = vectorPlan();
  plan.modules[0].target = "cuda:sm_90a";
  EXPECT_EQ(tryCreate(std::move(plan)).error().code, Code::Unsupported);
}

TEST_P(ExecutorTest, ProfilingTimesEachLaunchAndChangesNoResult) {
  create(vectorPlan());
  bind(100);
  ASSERT_TRUE(executor_->setProfiling(true).has_value());
  EXPECT_EQ(step(100, 1), expected(100, 1));
  const auto samples = executor_->samples();
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].launch->label, "add");
  EXPECT_EQ(samples[0].grid, (hal::Grid{7, 1, 1}));
  EXPECT_EQ(samples[0].bytesMoved, 1200);
  EXPECT_EQ(samples[0].operations, 100);
  EXPECT_EQ(samples[1].launch->label, "scale");
}

INSTANTIATE_TEST_SUITE_P(Threads, ExecutorTest, ::testing::Values(1, 2, 3));

class NullExecutorTest : public ExecutorFixture {
protected:
  void SetUp() override { open("null", 1); }
};

TEST_F(NullExecutorTest, APlanRunsWithoutEffectWithAndWithoutGraphs) {
  for (bool graphs : {true, false}) {
    create(vectorPlan(), {.captureGraphs = graphs});
    bind(3);
    EXPECT_TRUE(executor_->run("step").has_value());
    EXPECT_EQ(floatsOf(executor_->buffer("y").value()), (std::vector<float>{0, 0, 0}));
  }
}

TEST_F(NullExecutorTest, ProfilingIsUnsupported) {
  create(vectorPlan());
  auto on = executor_->setProfiling(true);
  ASSERT_FALSE(on.has_value());
  EXPECT_EQ(on.error().message, "device 'null' of driver 'null' has no event timing");
}

} // namespace
} // namespace sinter::runtime
