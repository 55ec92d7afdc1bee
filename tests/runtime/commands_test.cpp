// Instantiation: branches, loops and calls become a flat list; sizes that make no sense are
// refused.
#include "runtime/commands.h"

#include "runtime/vector_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::runtime {
namespace {

using plan::Expr;
using plan::Step;

class CommandsTest : public ::testing::Test {
protected:
  CommandsTest() : plan_(vectorPlan()) { plan_.procedures[0].steps.clear(); }

  Result<CommandList> make() {
    std::vector<uint64_t> bytes;
    for (const plan::Buffer &buffer : plan_.buffers)
      bytes.push_back(static_cast<uint64_t>(plan::evaluate(buffer.bytes, symbols_).value()));
    const std::vector<hal::BufferBinding> placements(plan_.buffers.size(), {nullptr, 1000});
    return instantiate(plan_, plan::ProcedureId{0}, {symbols_, bytes, placements, maxSteps_});
  }
  CommandList list() {
    auto made = make();
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    return made ? *made : CommandList{};
  }
  Status error() {
    auto made = make();
    EXPECT_FALSE(made.has_value());
    return made ? Status{Code::Cancelled, ""} : made.error();
  }
  // The last scalar of each launch in order.
  std::vector<int64_t> factors() {
    std::vector<int64_t> result;
    const CommandList made = list();
    for (const Command &command : made.commands)
      result.push_back(made.scalars[command.firstScalar + command.scalarCount - 1]);
    return result;
  }
  std::vector<Step> &steps() { return plan_.procedures[0].steps; }
  static Step scale(Expr factor) { return {scaleLaunch(kX, kY, std::move(factor))}; }
  static Step loop(Expr count, std::vector<Step> body) {
    return {plan::Loop{kRound, std::move(count), std::move(body)}};
  }

  plan::Plan plan_;
  std::vector<int64_t> symbols_ = {40, 0};
  uint64_t maxSteps_ = 1000;
};

const Expr kRoundValue = plan::symbol(kRound);

TEST_F(CommandsTest, EverythingOfALaunchIsEvaluated) {
  plan::Launch launch = addLaunch(kX, kW, kSum);
  launch.buffers[1].byteOffset = plan::mul(plan::symbol(kN), Expr(4));
  steps() = {{launch}};
  const CommandList made = list();
  ASSERT_EQ(made.commands.size(), 1u);
  EXPECT_EQ(made.commands[0].grid, (hal::Grid{3, 1, 1}));
  EXPECT_EQ(made.buffers[1].offset, 1160u);
  EXPECT_EQ(made.scalars, (std::vector<int64_t>{40}));
  EXPECT_EQ(made.commands[0].bytesMoved, 480);
  EXPECT_EQ(made.commands[0].operations, 40);
}

// What is waited with: the next large weight that is read as a whole.
TEST_F(CommandsTest, EachCommandKnowsTheNextWeightToBeRead) {
  plan_.buffers[kW.index].bytes = Expr(1 << 17);
  plan::Launch whole = addLaunch(kX, kW, kSum), part = whole, rows = whole;
  whole.bytesMoved = Expr(1 << 17);
  part.buffers[1].byteOffset = Expr(1 << 12);
  part.bytesMoved = Expr(1 << 17);
  rows.bytesMoved = Expr(100); // a few rows of a table
  steps() = {scale(Expr(1)), {part}, scale(Expr(1)), {rows}, {whole}, scale(Expr(1))};
  const CommandList made = list();
  ASSERT_EQ(made.commands.size(), 6u);
  const auto expected = [&](size_t i) { return made.commands[i].expected; };
  EXPECT_EQ(expected(0).bytes, (1u << 17) - (1u << 12));
  EXPECT_EQ(expected(0).from.offset, 1000u + (1 << 12));
  for (size_t i : {1, 2, 3}) {
    EXPECT_EQ(expected(i).bytes, 1u << 17) << i;
    EXPECT_EQ(expected(i).from.offset, 1000u) << i;
  }
  EXPECT_EQ(expected(4).bytes, 0u);
  EXPECT_EQ(expected(5).bytes, 0u);
}

TEST_F(CommandsTest, ALoopIsUnrolledWithItsValues) {
  steps() = {loop(Expr(3), {scale(kRoundValue)}), scale(Expr(9))};
  EXPECT_EQ(factors(), (std::vector<int64_t>{0, 1, 2, 9}));
}

TEST_F(CommandsTest, ALoopOfNothingOrLessRunsNothing) {
  steps() = {loop(Expr(0), {scale(Expr(1))}), loop(Expr(-5), {scale(Expr(2))})};
  EXPECT_TRUE(list().commands.empty());
}

TEST_F(CommandsTest, AnInnerLoopOfTheSameSymbolHidesTheOuterValue) {
  steps() = {loop(Expr(2),
                  {loop(Expr(2), {scale(kRoundValue)}), scale(plan::add(kRoundValue, Expr(10)))})};
  EXPECT_EQ(factors(), (std::vector<int64_t>{0, 1, 10, 0, 1, 11}));
}

TEST_F(CommandsTest, AfterALoopItsSymbolHasTheFormerValue) {
  symbols_[1] = 5;
  steps() = {loop(Expr(2), {scale(kRoundValue)}), scale(kRoundValue)};
  EXPECT_EQ(factors(), (std::vector<int64_t>{0, 1, 5}));
}

TEST_F(CommandsTest, AConditionChoosesItsBranch) {
  steps() = {{plan::If{plan::add(plan::symbol(kN), Expr(-40)), {scale(Expr(1))}, {scale(Expr(2))}}},
             {plan::If{plan::symbol(kN), {scale(Expr(3))}, {}}}};
  EXPECT_EQ(factors(), (std::vector<int64_t>{2, 3}));
}

TEST_F(CommandsTest, ACallSeesTheLoopsValue) {
  plan_.procedures[1].steps = {scale(kRoundValue)};
  steps() = {loop(Expr(3), {{plan::Call{plan::ProcedureId{1}}}})};
  EXPECT_EQ(factors(), (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(CommandsTest, EmptyGridsAndCopiesAreLeftOut) {
  symbols_[0] = 0;
  steps() = {scale(Expr(1)), {plan::Copy{kX, Expr(0), kY, Expr(0), plan::symbol(kN)}}};
  EXPECT_TRUE(list().commands.empty());
}

TEST_F(CommandsTest, ALoopBeyondItsSymbolsBoundsIsRefused) {
  steps() = {loop(Expr(9), {})};
  EXPECT_EQ(error().message, "a loop counts 'round' from 0 to 8, allowed is 0 to 7");
}

TEST_F(CommandsTest, ANegativeGridIsRefusedByName) {
  plan::Launch launch = scaleLaunch(kX, kY, Expr(1));
  launch.grid[1] = Expr(-1);
  steps() = {{launch}};
  EXPECT_EQ(error().message,
            "launch 'scale' of kernel 'scale_f32': grid extent -1, expected at least 0");
}

TEST_F(CommandsTest, AnOffsetOutsideOfItsBufferIsRefused) {
  for (int64_t offset : {int64_t(-1), int64_t(161), INT64_MAX}) {
    plan::Launch launch = scaleLaunch(kX, kY, Expr(1));
    launch.buffers[1].byteOffset = Expr(offset);
    steps() = {{launch}};
    EXPECT_THAT(error().message, ::testing::HasSubstr("of buffer 'y', which has 160")) << offset;
  }
}

TEST_F(CommandsTest, ACopyOutsideOfItsBuffersIsRefused) {
  const int64_t cases[][3] = {{1, 0, 160}, {0, 1, 160}, {0, 0, 161},
                              {0, 0, -1},  {-1, 0, 4},  {INT64_MAX, 0, INT64_MAX}};
  for (const auto &[from, to, bytes] : cases) {
    steps() = {{plan::Copy{kX, Expr(from), kY, Expr(to), Expr(bytes)}}};
    EXPECT_EQ(error().code, Code::InvalidArgument) << from << " " << to << " " << bytes;
  }
}

TEST_F(CommandsTest, ACopyOntoItselfIsRefused) {
  steps() = {{plan::Copy{kX, Expr(0), kX, Expr(4), Expr(8)}}};
  EXPECT_THAT(error().message, ::testing::HasSubstr("overlap"));
  steps() = {{plan::Copy{kX, Expr(0), kX, Expr(8), Expr(8)}}};
  EXPECT_EQ(list().commands.size(), 1u);
}

TEST_F(CommandsTest, AnOverflowingScalarIsRefusedByName) {
  steps() = {scale(plan::mul(plan::symbol(kN), Expr(INT64_MAX)))};
  EXPECT_THAT(error().message,
              ::testing::StartsWith("launch 'scale' of kernel 'scale_f32': cannot"));
}

TEST_F(CommandsTest, HugeLoopsEndAtTheStepLimitEvenWithoutABody) {
  plan_.symbols[1].max = INT64_MAX;
  steps() = {loop(Expr(INT64_MAX), {})};
  EXPECT_EQ(error().code, Code::Exhausted);
  steps() = {loop(Expr(INT64_MAX), {loop(Expr(INT64_MAX), {scale(Expr(1))})})};
  EXPECT_EQ(error().code, Code::Exhausted);
}

TEST_F(CommandsTest, ArgumentsCountTowardsTheStepLimit) {
  maxSteps_ = 5;
  steps() = {scale(Expr(1))};
  EXPECT_EQ(list().commands.size(), 1u);
  maxSteps_ = 4;
  EXPECT_EQ(error().code, Code::Exhausted);
}

} // namespace
} // namespace sinter::runtime
