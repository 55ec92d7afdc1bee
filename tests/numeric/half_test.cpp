// The small float formats: exhaustive where the input is small, nearest-even against brute force
// where it is not.
#include "numeric/half.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace sinter {
namespace {

uint32_t bitsOf(float value) {
  return std::bit_cast<uint32_t>(value);
}

// Every f16 value, the midpoint above it, and the f32 numbers on both sides of each.
std::vector<float> hardF16Inputs() {
  std::vector<float> inputs;
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    float low = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(code)));
    float high = code == 0x7bff
                     ? 65536.0f
                     : static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(code + 1)));
    float middle = low + (high - low) / 2;
    for (float value : {low, middle})
      for (float near : {std::nextafter(value, -1.0f), value, std::nextafter(value, 1e9f)})
        inputs.insert(inputs.end(), {near, -near});
  }
  return inputs;
}

TEST(F16, EveryCodeWidensAsTheCompilersOwnType) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    float expected = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(code)));
    float got = f16ToF32(static_cast<uint16_t>(code));
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(got)) << code;
    else
      ASSERT_EQ(bitsOf(got), bitsOf(expected)) << code;
  }
}

TEST(F16, ValuesMidpointsAndTheirNeighboursRoundAsTheCompilersOwnType) {
  for (float value : hardF16Inputs())
    ASSERT_EQ(f32ToF16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
}

TEST(F16, RandomBitPatternsRoundAsTheCompilersOwnType) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isnan(value))
      ASSERT_EQ(f32ToF16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}

TEST(F16, NanStaysNanWithItsSign) {
  EXPECT_EQ(f32ToF16(std::bit_cast<float>(0x7f800001u)), 0x7e00);
  EXPECT_EQ(f32ToF16(std::bit_cast<float>(0xffc00000u)), 0xfe00);
}

TEST(Bf16, EveryCodeThatIsNotNanSurvivesTheRoundTrip) {
  for (uint32_t code = 0; code < 0x10000; ++code)
    if (!std::isnan(bf16ToF32(static_cast<uint16_t>(code))))
      ASSERT_EQ(f32ToBf16(bf16ToF32(static_cast<uint16_t>(code))), code);
}

TEST(Bf16, TiesGoToTheEvenCodeAndNeighboursToTheNearest) {
  for (uint32_t code = 0; code < 0x7f80; ++code) {
    uint32_t tie = (code << 16) | 0x8000;
    ASSERT_EQ(f32ToBf16(std::bit_cast<float>(tie)), code + (code & 1)) << code;
    ASSERT_EQ(f32ToBf16(std::bit_cast<float>(tie - 1)), code) << code;
    ASSERT_EQ(f32ToBf16(std::bit_cast<float>(tie + 1)), code + 1) << code;
  }
}

TEST(Bf16, NanBecomesQuietAndNeverInfinity) {
  EXPECT_EQ(f32ToBf16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
  EXPECT_EQ(f32ToBf16(std::bit_cast<float>(0xffffffffu)), 0xffff);
}

struct SmallFormat {
  const char *name;
  float (*widen)(uint8_t);
  uint8_t (*narrow)(float);
  uint32_t finiteCodes; // non-negative codes 0 .. finiteCodes - 1 are finite and ascend
  bool isSigned;
};
void PrintTo(const SmallFormat &format, std::ostream *out) {
  *out << format.name;
}

class SmallFloat : public ::testing::TestWithParam<SmallFormat> {};

TEST_P(SmallFloat, FiniteCodesAscendAndSurviveTheRoundTrip) {
  const auto &format = GetParam();
  for (uint32_t code = 0; code < format.finiteCodes; ++code) {
    float value = format.widen(static_cast<uint8_t>(code));
    ASSERT_EQ(format.narrow(value), code);
    if (code > 0)
      ASSERT_LT(format.widen(static_cast<uint8_t>(code - 1)), value) << code;
  }
}

TEST_P(SmallFloat, TiesGoToTheEvenCodeAndNeighboursToTheNearest) {
  const auto &format = GetParam();
  for (uint32_t code = 0; code + 1 < format.finiteCodes; ++code) {
    float low = format.widen(static_cast<uint8_t>(code));
    float high = format.widen(static_cast<uint8_t>(code + 1));
    float tie = low + (high - low) / 2;
    ASSERT_EQ(format.narrow(tie), code + (code & 1)) << code;
    ASSERT_EQ(format.narrow(std::nextafter(tie, low)), code) << code;
    ASSERT_EQ(format.narrow(std::nextafter(tie, high)), code + 1) << code;
  }
}

TEST_P(SmallFloat, ValuesBeyondTheLargestSaturate) {
  const auto &format = GetParam();
  uint32_t last = format.finiteCodes - 1;
  EXPECT_EQ(format.narrow(std::numeric_limits<float>::max()), last);
  EXPECT_EQ(format.narrow(std::numeric_limits<float>::infinity()), last);
}

TEST_P(SmallFloat, NegativeValuesMirrorOrGiveZero) {
  const auto &format = GetParam();
  for (uint32_t code = 1; code < format.finiteCodes; ++code) {
    uint8_t expected = static_cast<uint8_t>(format.isSigned ? code | 0x80 : 0);
    ASSERT_EQ(format.narrow(-format.widen(static_cast<uint8_t>(code))), expected) << code;
    if (format.isSigned)
      ASSERT_EQ(format.widen(expected), -format.widen(static_cast<uint8_t>(code))) << code;
  }
}

TEST_P(SmallFloat, NanStaysNan) {
  const auto &format = GetParam();
  EXPECT_TRUE(std::isnan(format.widen(format.narrow(std::nanf("")))));
}

INSTANTIATE_TEST_SUITE_P(Formats, SmallFloat,
                         ::testing::Values(SmallFormat{"E4M3", e4m3ToF32, f32ToE4m3, 0x7f, true},
                                           SmallFormat{"E5M2", e5m2ToF32, f32ToE5m2, 0x7c, true},
                                           SmallFormat{"E8M0", e8m0ToF32, f32ToE8m0, 0xff, false},
                                           SmallFormat{"UE4M3", ue4m3ToF32, f32ToUe4m3, 0x7f,
                                                       false}),
                         [](const auto &info) { return info.param.name; });

// The definition: of all finite numbers the nearest, of two the one with the even code, with the
// value's sign.
uint8_t nearestE4m3(float value) {
  uint8_t best = 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  auto apart = [&](uint8_t code) { return std::fabs(e4m3ToF32(code) - magnitude); };
  for (uint8_t code = 1; code < 0x7f; ++code)
    if (apart(code) < apart(best) || (apart(code) == apart(best) && code % 2 == 0))
      best = code;
  return static_cast<uint8_t>(best | (std::signbit(value) ? 0x80 : 0));
}

TEST(E4m3, EveryF16RoundsAsTheDefinitionSays) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = f16ToF32(static_cast<uint16_t>(half));
    if (!std::isnan(value) && !std::isinf(value))
      ASSERT_EQ(f32ToE4m3(value), nearestE4m3(value)) << value;
  }
}

TEST(E4m3, F32BesideEachTieRoundsAsTheDefinitionSays) {
  for (uint8_t code = 0; code < 0x7e; ++code) {
    const float tie = (e4m3ToF32(code) + e4m3ToF32(static_cast<uint8_t>(code + 1))) / 2;
    for (float value : {std::nextafter(tie, 0.0F), tie, std::nextafter(tie, 1e9F)})
      for (float sign : {1.0F, -1.0F})
        ASSERT_EQ(f32ToE4m3(sign * value), nearestE4m3(sign * value)) << value;
  }
  for (float value : {1e-45F, -1e-40F, 0x1p-10F, 1e-6F, 463.9F, 464.0F, 3e38F, -3e38F, -0.0F})
    EXPECT_EQ(f32ToE4m3(value), nearestE4m3(value)) << value;
}

TEST(SmallFloatValues, TheLargestFiniteValuesAreTheStandards) {
  EXPECT_EQ(e4m3ToF32(0x7e), 448.0f);
  EXPECT_EQ(e5m2ToF32(0x7b), 57344.0f);
  EXPECT_EQ(e8m0ToF32(0xfe), 0x1p127f);
  EXPECT_EQ(ue4m3ToF32(0x01), 0x1p-9f);
}

} // namespace
} // namespace sinter
