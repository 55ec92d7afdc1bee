// Variants put together from launches that were compiled already, and what trials take.
#include "cli/tune/trial_costs.h"
#include "cli/tune/trial_variants.h"

#include <gmock/gmock.h>

namespace sinter::cli {
namespace {

using plan::ScheduleChoice;

const ScheduleChoice kSmall{{{"block_m", 48}}}, kLarge{{{"block_m", 96}}}, kPairs{{{"vectors", 2}}};

// A step of kernels aa and bb, bb in a branch, and two variants: in both, each kernel has another
// schedule.
plan::Plan trialPlan() {
  plan::Plan plan;
  const std::vector<std::array<ScheduleChoice, 2>> schedules = {
      {}, {kSmall, kPairs}, {kLarge, kSmall}};
  for (const auto &[first, second] : schedules) {
    plan::Procedure &procedure = plan.procedures.emplace_back();
    procedure.name =
        plan.procedures.size() == 1 ? "step" : "step." + std::to_string(plan.procedures.size() - 1);
    const auto launch = [&](const char *content, const ScheduleChoice &schedule) {
      const auto index = static_cast<uint32_t>(plan.kernels.size());
      plan.kernels.push_back({.content = content, .schedule = schedule});
      plan::Launch launch{{index}};
      launch.grid[0] = plan::Expr(index);
      return plan::Step{launch};
    };
    procedure.steps = {launch("aa", first), {plan::If{plan::Expr(1), {launch("bb", second)}, {}}}};
  }
  return plan;
}

// Schedules of a procedure's launches, each of which must have its own kernel's grid.
std::vector<ScheduleChoice> schedulesOf(const plan::Plan &plan, size_t procedure) {
  const auto &steps = plan.procedures[procedure].steps;
  const auto &first = std::get<plan::Launch>(steps[0].op);
  const auto &second = std::get<plan::Launch>(std::get<plan::If>(steps[1].op).thenSteps[0].op);
  for (const plan::Launch *launch : {&first, &second})
    EXPECT_EQ(launch->grid[0], plan::Expr(launch->kernel.index));
  return {plan.kernels[first.kernel.index].schedule, plan.kernels[second.kernel.index].schedule};
}

TEST(TrialVariants, AreMadeOfWhatWasCompiled) {
  const std::vector<Assignment> asked = {{{"aa", kLarge}, {"bb", kPairs}}, {{"bb", kSmall}}};
  const TrialVariants made = rearranged(trialPlan(), asked);
  EXPECT_TRUE(made.whole);
  EXPECT_EQ(made.variants, asked);
  ASSERT_EQ(made.plan.procedures.size(), 3u);
  EXPECT_EQ(made.plan.procedures[0], trialPlan().procedures[0]);
  EXPECT_EQ(made.plan.procedures[1].name, "step.1");
  EXPECT_EQ(schedulesOf(made.plan, 1), (std::vector{kLarge, kPairs}));
  EXPECT_EQ(schedulesOf(made.plan, 2), (std::vector{ScheduleChoice(), kSmall}));
}

TEST(TrialVariants, AreWithoutKernelsOfWhichAScheduleIsMissing) {
  const ScheduleChoice both{{{"block_m", 48}, {"vectors", 2}}};
  const TrialVariants made =
      rearranged(trialPlan(), {{{"aa", both}, {"bb", kPairs}}, {{"aa", kSmall}}, {{"cc", kSmall}}});
  EXPECT_FALSE(made.whole);
  const Assignment left = {{"bb", kPairs}};
  EXPECT_THAT(made.variants, testing::ElementsAre(left));
  ASSERT_EQ(made.plan.procedures.size(), 2u);
  EXPECT_EQ(schedulesOf(made.plan, 1), (std::vector{ScheduleChoice(), kPairs}));
}

TEST(TrialCosts, HaveALeastThatNoBudgetUndercuts) {
  const TrialCosts costs{.kernelSeconds = 0.5, .loadSeconds = 2, .stepSeconds = 1};
  // Loaded, each procedure checked, the step once more, three rounds.
  EXPECT_DOUBLE_EQ(costs.timing(1, {3, 15, 0}), 2 + 2 + 1 + 3 * 2);
  EXPECT_DOUBLE_EQ(costs.timing(1, {3, 15, 1000}), 2 + 2 + 1 + 15 * 2);
  EXPECT_DOUBLE_EQ(costs.timing(1, {3, 15, 4}), 2 + 2 + 1 + 3 * 4);
  EXPECT_DOUBLE_EQ(costs.trial(10, 1, {3, 15, 0}), 5 + costs.timing(1, {3, 15, 0}));
}

} // namespace
} // namespace sinter::cli
