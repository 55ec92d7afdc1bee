// Formats of activations: which one weights ask for, and what their blocks hold.
#include "numeric/activation_format.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace sinter {
namespace {

TEST(ActivationFormats, HaveTheSumsOfTheGroupAndTheLongestScalesThatFit) {
  EXPECT_EQ(activationFormatFor(32, 32).name, "Q8A");
  EXPECT_EQ(activationFormatFor(16, 64).name, "Q8A_16_64");
  EXPECT_EQ(activationFormatFor(32, 256).name, "Q8A_256");
  EXPECT_EQ(activationFormatFor(16, 8192).name, "Q8A_16_256");
  EXPECT_EQ(activationFormatFor(32, 576).name, "Q8A_64"); // of 256 two and a quarter
  EXPECT_EQ(activationFormatFor(32, 96).name, "Q8A");
}

template <typename Number> Number at(const uint8_t *block, uint32_t offset) {
  Number number;
  std::memcpy(&number, block + offset, sizeof number);
  return number;
}

TEST(ActivationFormats, BlocksOfOneScaleHoldItAndTheirOwnSums) {
  for (const ActivationFormat &format : activationFormats()) {
    SCOPED_TRACE(format.name);
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<float> values(format.scaleLength);
    float most = 0;
    for (float &value : values) {
      value = normal(random);
      most = std::max(most, std::fabs(value));
    }
    std::vector<uint8_t> blocks(values.size() / kActivationLength * format.bytes());
    quantizeActivation(format, values, blocks);
    for (uint32_t i = 0; i < format.scaleLength; ++i) {
      const uint8_t *block = &blocks[i / kActivationLength * format.bytes()];
      EXPECT_EQ(activationScale(block), most / 127);
      EXPECT_EQ(activationCode(format, block, i % kActivationLength),
                std::nearbyint(values[i] * (127 / most)));
    }
    for (uint32_t length : {kActivationLength, format.partLength})
      for (uint32_t first = 0; first < format.scaleLength; first += length) {
        const uint8_t *block = &blocks[first / kActivationLength * format.bytes()];
        uint32_t inBlock = first % kActivationLength;
        int32_t sum = 0;
        for (uint32_t i = 0; i < length; ++i)
          sum += activationCode(format, block, inBlock + i);
        EXPECT_EQ(at<float>(block, format.sumOffset(length, inBlock / length)), sum);
        EXPECT_EQ(at<int32_t>(block, format.startOffset(length, inBlock / length)), -128 * sum);
      }
  }
}

// The codes of one block of these values and of zeros behind them.
std::vector<int> codesOf(std::vector<float> values, float &scale) {
  values.resize(kActivationLength);
  std::vector<uint8_t> block(kQ8a.bytes());
  quantizeActivation(kQ8a, values, block);
  scale = activationScale(block.data());
  std::vector<int> codes;
  for (uint32_t i = 0; i < kActivationLength; ++i)
    codes.push_back(activationCode(kQ8a, block.data(), i));
  codes.resize(3);
  return codes;
}

TEST(ActivationFormats, NoNumberHasACodeBeyondTheLargest) {
  using Codes = std::vector<int>;
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  float scale;
  EXPECT_EQ(codesOf({0, -0.0f}, scale), (Codes{0, 0, 0}));
  EXPECT_EQ(scale, 0);
  EXPECT_EQ(codesOf({3e38f, -3e38f, 1}, scale), (Codes{127, -127, 0}));
  EXPECT_EQ(codesOf({1e-37f, -2e-37f, 0}, scale), (Codes{0, 0, 0})) << "too small for a factor";
  EXPECT_EQ(codesOf({4e-37f, -2e-37f}, scale), (Codes{127, -64, 0})) << "of a subnormal scale";
  EXPECT_EQ(codesOf({kInfinite, 1, -kInfinite}, scale), (Codes{0, 0, 0}));
  EXPECT_EQ(scale, kInfinite);
  EXPECT_EQ(codesOf({NAN, 1, kInfinite}, scale), (Codes{0, 0, 0}));
  EXPECT_TRUE(std::isnan(scale));
}

} // namespace
} // namespace sinter
