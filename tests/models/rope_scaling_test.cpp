// RoPE scaling against computations of their own: angles and magnitudes of single pairs.
#include "models/rope_scaling.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace sinter::models {
namespace {

using Kind = RopeScaling::Kind;

// How often pair i turns within the context of training.
double turns(int64_t i, const RopeScaling &scaling, int64_t dims, double base) {
  const double radians = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
  return static_cast<double>(scaling.originalContext) * radians / (2 * std::numbers::pi);
}

// YaRN by counting turns: pairs up to the last that turns at least 32 times stay, those from the
// first that turns at most once on are stretched.
double yarnScale(int64_t pair, const RopeScaling &scaling, int64_t dims, double base) {
  int64_t last = 0, first = 0;
  while (turns(last + 1, scaling, dims, base) >= 32)
    ++last;
  while (turns(first, scaling, dims, base) > 1)
    ++first;
  first = std::min(first, dims - 1);
  const double whole = static_cast<double>(std::max<int64_t>(first - last, 0));
  const double share =
      whole == 0 ? pair > last : std::clamp(static_cast<double>(pair - last) / whole, 0.0, 1.0);
  return (1 - share) + share / scaling.factor;
}

TEST(RopeScaling, WithoutAFactorNothingIsScaled) {
  EXPECT_TRUE(frequencyScales({}, 64, 1e4).empty());
  EXPECT_TRUE(frequencyScales({.kind = Kind::Linear, .factor = 1}, 64, 1e4).empty());
  EXPECT_TRUE(frequencyScales({.kind = Kind::None, .factor = 4}, 64, 1e4).empty());
  EXPECT_EQ(rotationMagnitude({}), 1.0f);
}

TEST(RopeScaling, LinearScalingDividesEachPositionByTheFactor) {
  const auto scales = frequencyScales({.kind = Kind::Linear, .factor = 4}, 64, 1e4);
  ASSERT_EQ(scales.size(), 32u);
  for (int64_t i = 0; i < 32; ++i)
    for (double position : {1.0, 1000.0}) {
      const double frequency = std::pow(1e4, -static_cast<double>(i) / 32);
      EXPECT_DOUBLE_EQ(position * frequency * scales[static_cast<size_t>(i)],
                       position / 4 * frequency);
    }
  EXPECT_EQ(rotationMagnitude({.kind = Kind::Linear, .factor = 4}), 1.0f);
}

TEST(RopeScaling, YarnStretchesPairsThatTurnSlowly) {
  for (double base : {1e4, 1e6})
    for (int64_t dims : {64, 128})
      for (int64_t context : {64, 2048, 32768}) {
        const RopeScaling yarn = {.kind = Kind::Yarn, .factor = 4, .originalContext = context};
        const auto scales = frequencyScales(yarn, dims, base);
        ASSERT_EQ(scales.size(), static_cast<size_t>(dims / 2));
        for (int64_t i = 0; i < dims / 2; ++i)
          EXPECT_NEAR(scales[static_cast<size_t>(i)], yarnScale(i, yarn, dims, base), 1e-6)
              << "pair " << i << " of " << dims << ", base " << base << ", context " << context;
      }
}

TEST(RopeScaling, YarnGrowsCosinesAndSinesWithTheFactor) {
  EXPECT_FLOAT_EQ(rotationMagnitude({.kind = Kind::Yarn, .factor = 4}), 1.1386294f);
  EXPECT_FLOAT_EQ(rotationMagnitude({.kind = Kind::Yarn, .factor = 0.5}), 1.0f);
}

TEST(RopeScaling, TheAttentionFactorCountsForEveryKind) {
  for (Kind kind : {Kind::None, Kind::Linear})
    EXPECT_EQ(rotationMagnitude({.kind = kind, .factor = 4, .attentionFactor = 0.75f}), 0.75f);
  EXPECT_FLOAT_EQ(rotationMagnitude({.kind = Kind::Yarn, .factor = 4, .attentionFactor = 0.5f}),
                  0.5693147f);
}

} // namespace
} // namespace sinter::models
