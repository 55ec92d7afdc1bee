// The plan file: what is written is read back, and equal plans are equal bytes.
#include "plan/file.h"

#include "plan/sample_plan.h"

#include <gtest/gtest.h>

namespace sinter::plan {
namespace {

TEST(PlanFile, ReadsBackWhatWasWritten) {
  auto bytes = serialize(samplePlan());
  ASSERT_TRUE(bytes.has_value()) << bytes.error().toString();
  auto plan = parse(*bytes);
  ASSERT_TRUE(plan.has_value()) << plan.error().toString();
  EXPECT_EQ(*plan, samplePlan());
}

TEST(PlanFile, AnEmptyPlanIsAPlan) {
  auto bytes = serialize(Plan{});
  ASSERT_TRUE(bytes.has_value()) << bytes.error().toString();
  auto plan = parse(*bytes);
  ASSERT_TRUE(plan.has_value()) << plan.error().toString();
  EXPECT_EQ(*plan, Plan{});
}

TEST(PlanFile, EqualPlansAreEqualBytes) {
  EXPECT_EQ(serialize(samplePlan()).value(), serialize(samplePlan()).value());
}

TEST(PlanFile, AParsedPlanIsWrittenAsItWas) {
  const auto bytes = serialize(samplePlan()).value();
  EXPECT_EQ(serialize(parse(bytes).value()).value(), bytes);
}

TEST(PlanFile, AnInvalidPlanIsNotWritten) {
  Plan plan = samplePlan();
  plan.kernels[0].module = ModuleId{9};
  auto bytes = serialize(plan);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().message, "kernel 'norm' is in module 9, the plan has 1");
}

TEST(PlanFile, NestingUpToTheLimitIsReadBack) {
  Plan plan;
  plan.symbols = {{"i", 0, 100}};
  std::vector<Step> steps;
  for (uint32_t i = 0; i < kMaxNesting; ++i) {
    std::vector<Step> outer;
    if (i % 2)
      outer.push_back({Loop{SymbolId{0}, Expr(2), std::move(steps)}});
    else
      outer.push_back({If{Expr(1), {}, std::move(steps)}});
    steps = std::move(outer);
  }
  plan.procedures = {{"deep", std::move(steps)}};
  auto bytes = serialize(plan);
  ASSERT_TRUE(bytes.has_value()) << bytes.error().toString();
  EXPECT_EQ(parse(*bytes).value(), plan);
}

} // namespace
} // namespace sinter::plan
