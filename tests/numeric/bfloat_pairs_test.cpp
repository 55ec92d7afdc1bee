// Words of two bf16 against products in f64 and against the bits that processors give.
#include "numeric/bfloat_pairs.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace sinter {
namespace {

constexpr float kLeast = std::numeric_limits<float>::min(), kInfinity = INFINITY;

TEST(BfloatPairs, TheFirstNumberIsInTheLowHalf) {
  EXPECT_EQ(bfloatPair(1.0f, -2.0f), 0xc0003f80u);
  EXPECT_EQ(bfloatPair(0.0f, kInfinity), 0x7f800000u);
}

TEST(BfloatPairs, NumbersRoundToNearestAndTiesToEven) {
  // Eight bits of significand: 1 + 2^-8 lies in the middle of 1 and 1 + 2^-7.
  EXPECT_EQ(bfloatPair(1 + 0x1p-8f, 1 + 3 * 0x1p-8f), 0x3f823f80u);
  EXPECT_EQ(bfloatPair(1 + 0x1p-8f + 0x1p-23f, 0), 0x3f81u);
  EXPECT_EQ(bfloatPair(std::numeric_limits<float>::max(), 0), 0x7f80u) << "beyond the largest";
}

TEST(BfloatPairs, SubnormalNumbersAndSumsAreZerosOfTheirSign) {
  EXPECT_EQ(bfloatPair(kLeast / 2, -kLeast / 2), 0x80000000u);
  EXPECT_EQ(addBfloatPair(0, 0, kLeast / 2), 0.0f);
  const uint32_t subnormal = 0x0040, large = 0x7e80;
  EXPECT_EQ(addBfloatPair(subnormal, large, 0), 0.0f) << "an operand";
  EXPECT_EQ(addBfloatPair(0x0100, 0x3e80, 0), 0.0f) << "2^-125 times a quarter";
  EXPECT_TRUE(std::signbit(addBfloatPair(0x8100, 0x3e80, -0.0f)));
}

// Sums whose magnitude is below the least normal number by less than subnormal numbers lie apart.
TEST(BfloatPairs, SumsThatOnlySubnormalRoundingMakesNormalAreZero) {
  EXPECT_EQ(addBfloatPair(0x000eb2de, 0x007f0111, kLeast), 0.0f); // as a Zen 4 has it
  EXPECT_EQ(addBfloatPair(0, 0, kLeast), kLeast);
  EXPECT_EQ(addBfloatPair(0x0100, 0x3f80, 0), 2 * kLeast);
}

TEST(BfloatPairs, TheSecondProductIsAddedFirstAndRoundedByItself) {
  const uint32_t ones = bfloatPair(1, 1), numbers = bfloatPair(-0x1p30f, 0x1p30f);
  // 1 is lost in 1 + 2^30, and would not be if the first product came first.
  EXPECT_EQ(addBfloatPair(ones, numbers, 1), 0.0f);
  EXPECT_EQ(addBfloatPair(ones, bfloatPair(0x1p30f, 0), -0x1p30f), 0.0f);
}

TEST(BfloatPairs, SumsAreThoseOfExactProducts) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> numbers(-4, 4);
  for (int i = 0; i < 10000; ++i) {
    float a[2], b[2], sum = numbers(random);
    for (int half : {0, 1}) {
      a[half] = bf16ToF32(f32ToBf16(numbers(random)));
      b[half] = bf16ToF32(f32ToBf16(numbers(random)));
    }
    // Products of two significands of eight bits are exact in f64, and so are these sums.
    auto second = static_cast<float>(static_cast<double>(a[1]) * b[1] + sum);
    auto both = static_cast<float>(static_cast<double>(a[0]) * b[0] + second);
    EXPECT_EQ(addBfloatPair(bfloatPair(a[0], a[1]), bfloatPair(b[0], b[1]), sum), both);
  }
}

} // namespace
} // namespace sinter
