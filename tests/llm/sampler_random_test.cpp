// The generator's published vectors, and what the sampler makes of them.
#include "llm/sampler/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sinter {
namespace {

using Counter = std::array<uint32_t, 4>;

// Known answers of Random123, kat_vectors.
TEST(SamplerRandom, PhiloxGivesItsKnownAnswers) {
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(SamplerRandom, NumbersComeFromTheUpperBitsOfTwoWords) {
  const auto [a, b] = SamplerRandom(0).next();
  EXPECT_EQ(a, (0xe169c58d6627e8d5 >> 11) * 0x1p-53);
  EXPECT_EQ(b, (0x9b00dbd8bc57ac4c >> 11) * 0x1p-53);
}

TEST(SamplerRandom, SeedsGiveOtherNumbersInAllTheirBits) {
  const auto first = SamplerRandom(0).next();
  for (const uint64_t seed : {uint64_t{1}, uint64_t{1} << 32, uint64_t{1} << 63})
    EXPECT_NE(SamplerRandom(seed).next(), first) << seed;
}

TEST(SamplerRandom, NumbersAreUniformAndPairsIndependent) {
  SamplerRandom random(42);
  constexpr int kCount = 100000, kBins = 10;
  double chiSquare = 0;
  int counts[kBins][kBins] = {};
  for (int i = 0; i < kCount; ++i) {
    const auto [a, b] = random.next();
    ASSERT_TRUE(a >= 0 && a < 1 && b >= 0 && b < 1);
    ++counts[static_cast<int>(a * kBins)][static_cast<int>(b * kBins)];
  }
  constexpr double kExpected = static_cast<double>(kCount) / (kBins * kBins);
  for (const auto &row : counts)
    for (const int count : row)
      chiSquare += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_LT(chiSquare, 99 + 4 * std::sqrt(2 * 99.0));
  EXPECT_GT(chiSquare, 99 - 4 * std::sqrt(2 * 99.0)) << "more even than chance";
}

} // namespace
} // namespace sinter
