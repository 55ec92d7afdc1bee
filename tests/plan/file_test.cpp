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
  EXPECT_EQ(bytes.error().message, "kernel 'norm_f32' is in module 9, the plan has 1");
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

// Files of the sample for these targets, one after another.
std::vector<uint8_t> filesFor(const std::vector<std::string> &targets) {
  std::vector<uint8_t> bytes;
  for (const std::string &target : targets) {
    Plan plan = samplePlan();
    plan.modules[0].target = target;
    const auto file = serialize(plan).value();
    bytes.insert(bytes.end(), file.begin(), file.end());
  }
  return bytes;
}

TEST(PlanFile, OfSeveralTargetsTheOneAskedForIsRead) {
  const auto bytes = filesFor({"cpu:a", "cuda:b", "vulkan:c"});
  for (const char *target : {"cpu:a", "cuda:b", "vulkan:c"}) {
    auto plan = parseFor(bytes, target);
    ASSERT_TRUE(plan.has_value()) << plan.error().toString();
    EXPECT_EQ(targetOf(*plan), target);
  }
}

TEST(PlanFile, WithoutTheTargetAskedForTheFirstThatFitsIsRead) {
  const auto fits = [](const Plan &plan) { return targetOf(plan).starts_with("cuda:"); };
  auto plan = parseFor(filesFor({"cpu:a", "cuda:b", "cuda:c"}), "cuda:d", fits);
  ASSERT_TRUE(plan.has_value()) << plan.error().toString();
  EXPECT_EQ(targetOf(*plan), "cuda:b");
}

TEST(PlanFile, WithoutATargetThatFitsAllAreNamed) {
  auto plan = parseFor(filesFor({"cpu:a", "cuda:b"}), "vulkan:c");
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, Code::NotFound);
  EXPECT_EQ(plan.error().message, "the plan is for cpu:a, cuda:b, expected 'vulkan:c'");
}

TEST(PlanFile, DamageInAnyOfSeveralFilesIsFound) {
  auto bytes = filesFor({"cpu:a", "cuda:b"});
  bytes[bytes.size() / 2 + 40] ^= 1;
  EXPECT_FALSE(parseFor(bytes, "vulkan:c").has_value());
  bytes.resize(bytes.size() - 1);
  EXPECT_FALSE(parseFor(bytes, "vulkan:c").has_value());
}

} // namespace
} // namespace sinter::plan
