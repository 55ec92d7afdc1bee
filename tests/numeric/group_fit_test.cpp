// The search for one group's scale and minimum, and the levels it works with.
#include "numeric/quantize/group_fit.h"

#include "numeric/fit_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sinter {
namespace {

const BlockFormat &named(std::string_view name) {
  return *findBlockFormat(name);
}

WeightedValues group(const std::vector<float> &values) {
  WeightedValues weighted;
  for (const float value : values)
    weighted.add(value, 1);
  return weighted;
}

TEST(Levels, OfCodesLieAroundTheZeroPoint) {
  const Levels levels = *codeLevels(named("Q4_0"));
  EXPECT_EQ(levels.low(), -8);
  EXPECT_EQ(levels.high(), 7);
  EXPECT_EQ(levels.code(levels.nearest(3.4f)), 11u);
}

TEST(Levels, OfSignedCodesAreSymmetric) {
  const Levels levels = *codeLevels(named("Q8_0"));
  EXPECT_EQ(levels.low(), -127);
  EXPECT_EQ(levels.high(), 127);
  EXPECT_EQ(levels.code(levels.nearest(-1e9f)) & 0xff, 0x81u);
}

TEST(Levels, OfATableAscendWithoutItsRepeats) {
  const Levels levels = *codeLevels(named("MXFP4"));
  EXPECT_EQ(levels.count, 15u);
  EXPECT_EQ(levels.low(), -12);
  EXPECT_EQ(levels.code(levels.nearest(0.2f)), 0u);
  EXPECT_EQ(levels.code(levels.nearest(-5.2f)), 14u - 1);
}

TEST(Levels, OfAFactorHaveItsOffset) {
  const Levels levels = *factorLevels(named("Q3_K").scale);
  EXPECT_EQ(levels.low(), -32);
  EXPECT_EQ(levels.code(levels.nearest(-31.2f)), 1u);
  EXPECT_EQ(factorLevels(named("Q4_0").scale)->count, 1u);
}

TEST(Levels, OfGridsAndSignsAreNone) {
  EXPECT_FALSE(codeLevels(named("IQ2_XXS")));
  EXPECT_FALSE(codeLevels(named("TQ1_0")));
  EXPECT_FALSE(codeLevels(named("F16")));
}

TEST(FitGroup, FindsTheScaleOfValuesThatLieOnLevels) {
  const Levels levels = *codeLevels(named("Q4_0"));
  const GroupFit fit =
      fitGroup(levels, group({-4, 3.5f, 1, 0, -0.5f, 2, -3, 0.5f}), {.negativeScale = true});
  EXPECT_FLOAT_EQ(fit.at.scale, 0.5f);
  EXPECT_NEAR(fit.sums.residual2, 0, 1e-12);
}

TEST(FitGroup, FindsScaleAndMinimumOfValuesThatLieOnLevels) {
  const Levels levels = *codeLevels(named("Q4_1"));
  const GroupFit fit = fitGroup(levels, group({2, 2.25f, 5.75f, 3, 4, 5, 3.5f, 2.5f}),
                                {.hasMin = true, .negativeMin = true});
  EXPECT_NEAR(fit.at.scale, 0.25f, 1e-6);
  EXPECT_NEAR(fit.at.min, -2, 1e-5);
}

TEST(FitGroup, KeepsTheMinimumFromBeingNegative) {
  const Levels levels = *codeLevels(named("Q4_K"));
  const GroupFit fit = fitGroup(levels, group({2, 2.25f, 5.75f, 3}), {.hasMin = true});
  EXPECT_EQ(fit.at.min, 0);
  EXPECT_GT(fit.at.scale, 0);
}

TEST(FitGroup, IgnoresWhatWeighsNothing) {
  const Levels levels = *codeLevels(named("Q4_0"));
  WeightedValues weighted = group({-4, 3.5f, 1, 0.5f});
  weighted.add(0.77f, 0);
  EXPECT_NEAR(fitGroup(levels, weighted, {.negativeScale = true}).sums.residual2, 0, 1e-12);
}

// The error by a search of many scales, each followed by one move.
double leastError(const Levels &levels, const WeightedValues &values) {
  constexpr FitRule kRule{.negativeScale = true};
  float most = 0;
  for (const float value : values.values())
    most = std::max(most, std::fabs(value));
  double least = INFINITY;
  for (int i = 1; i <= 2000; ++i)
    for (const float sign : {-1.0f, 1.0f}) {
      const ScaleAndMin start{sign * most / levels.high() * static_cast<float>(i) / 700, 0};
      const ScaleAndMin moved = improved(measure(levels, values, start), start, kRule);
      least = std::min(least, measure(levels, values, moved).residual2);
    }
  return least;
}

TEST(FitGroup, ComesCloseToAFineSearch) {
  for (const char *name : {"Q4_0", "Q5_0", "Q3_K", "IQ4_NL", "Q2_0"}) {
    const Levels levels = *codeLevels(named(name));
    double ours = 0, least = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      const WeightedValues values = group(makeRow(RowKind::HeavyTails, 32, seed));
      ours += fitGroup(levels, values, {.negativeScale = true}).sums.residual2;
      least += leastError(levels, values);
    }
    EXPECT_LE(ours, least * 1.02) << name;
  }
}

} // namespace
} // namespace sinter
