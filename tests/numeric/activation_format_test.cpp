// Formats of activations: which one weights ask for, and what their blocks hold.
#include "numeric/formats/activation_format.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace sinter {
namespace {

TEST(ActivationFormats, HaveTheSumsOfTheGroupAndTheLongestScalesThatFit) {
  EXPECT_EQ(activationFormatFor(32, 32).name, "Q8A");
  EXPECT_EQ(activationFormatFor(16, 64).name, "Q8A_16");
  EXPECT_EQ(activationFormatFor(32, 256).name, "Q8A_256");
  EXPECT_EQ(activationFormatFor(16, 8192).name, "Q8A_16_256");
  EXPECT_EQ(activationFormatFor(32, 576).name, "Q8A"); // of 256 two and a quarter
}

TEST(ActivationFormats, HeadsTakeTwelveBytesAndEightForEachPart) {
  EXPECT_EQ(kQ8a.bytes(), 44u);
  EXPECT_EQ(kQ8a.codeOffset(), 12u);
  EXPECT_EQ(kQ8a16.bytes(), 60u);
}

template <typename Number> Number at(const uint8_t *block, uint32_t offset) {
  Number number;
  std::memcpy(&number, block + offset, sizeof number);
  return number;
}

std::vector<float> normals(size_t count, float scale = 1) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(random);
  return values;
}

float largestOf(std::span<const float> values) {
  float most = 0;
  for (float value : values)
    most = std::max(most, std::fabs(value));
  return most;
}

// The squared errors of the values, in units of their own, with the largest magnitude as that code.
double errorsWith(double largestCode, std::span<const float> values) {
  const double scale = largestOf(values) / largestCode;
  double sum = 0;
  for (float value : values) {
    const double error = value - scale * std::nearbyint(value / scale);
    sum += error * error;
  }
  return sum;
}

std::vector<uint8_t> quantized(const ActivationFormat &format, std::span<const float> values) {
  std::vector<uint8_t> blocks(values.size() / kActivationLength * format.bytes());
  quantizeActivation(format, values, blocks);
  return blocks;
}

TEST(ActivationFormats, BlocksHoldTheirScaleCodesAndSums) {
  for (const ActivationFormat &format : activationFormats()) {
    SCOPED_TRACE(format.name);
    const std::vector<float> values = normals(format.scaleLength);
    const std::vector<uint8_t> blocks = quantized(format, values);
    const float scale = activationScale(format, blocks.data());
    for (uint32_t i = 0; i < format.scaleLength; ++i) {
      const uint8_t *block = &blocks[i / kActivationLength * format.bytes()];
      EXPECT_EQ(activationScale(format, block), scale);
      EXPECT_NEAR(activationCode(format, block, i % kActivationLength), values[i] / scale, 0.5001f);
    }
    for (uint32_t length : {kActivationLength, format.partLength})
      for (uint32_t first = 0; first < format.scaleLength; first += length) {
        const uint8_t *block = &blocks[first / kActivationLength * format.bytes()];
        uint32_t inBlock = first % kActivationLength;
        int32_t sum = 0;
        for (uint32_t i = 0; i < length; ++i)
          sum += activationCode(format, block, inBlock + i);
        EXPECT_EQ(at<float>(block, format.sumOffset(length, inBlock / length)),
                  static_cast<float>(sum));
        EXPECT_EQ(at<int32_t>(block, format.startOffset(length, inBlock / length)), -128 * sum);
      }
  }
}

// Of many blocks, so that both codes are taken often.
TEST(ActivationFormats, TheLargestMagnitudeBecomesTheCodeThatLeavesTheSmallerErrors) {
  for (const ActivationFormat &format : activationFormats()) {
    SCOPED_TRACE(format.name);
    constexpr uint32_t kScales = 200;
    const std::vector<float> all = normals(kScales * format.scaleLength);
    uint32_t fine = 0;
    for (uint32_t at = 0; at < kScales; ++at) {
      const auto values = std::span(all).subspan(at * format.scaleLength, format.scaleLength);
      const double with127 = errorsWith(127, values), with126 = errorsWith(126, values);
      const float scale = activationScale(format, quantized(format, values).data());
      fine += scale == largestOf(values) / 127;
      if (std::abs(with126 / with127 - 1) > 1e-4) {
        EXPECT_EQ(scale, largestOf(values) / (with126 < with127 ? 126.0f : 127.0f)) << at;
      }
    }
    EXPECT_GT(fine, kScales / 3);
    EXPECT_LT(fine, kScales - kScales / 10);
  }
}

TEST(ActivationFormats, CodesAreWithinHalfAStepAtEverySize) {
  for (const ActivationFormat &format : {kQ8a, kQ8a16})
    for (float size : {1e-30f, 1.0f, 1e30f}) {
      SCOPED_TRACE(format.name);
      const std::vector<float> values = normals(kActivationLength, size);
      const std::vector<uint8_t> block = quantized(format, values);
      const float scale = activationScale(format, block.data());
      for (uint32_t i = 0; i < kActivationLength; ++i)
        EXPECT_NEAR(scale * activationCode(format, block.data(), i), values[i], scale * 0.50001f);
    }
}

// The codes of one block of these values and of zeros behind them.
std::vector<int> codesOf(const ActivationFormat &format, std::vector<float> values, float &scale) {
  values.resize(format.scaleLength);
  std::vector<uint8_t> block(format.scaleLength / kActivationLength * format.bytes());
  quantizeActivation(format, values, block);
  scale = activationScale(format, block.data());
  std::vector<int> codes;
  for (uint32_t i = 0; i < 3; ++i)
    codes.push_back(activationCode(format, block.data(), i));
  return codes;
}

TEST(ActivationFormats, NoNumberHasACodeBeyondTheLargest) {
  using Codes = std::vector<int>;
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  float scale;
  for (const ActivationFormat &format : {kQ8a, kQ8a16, kQ8a256}) {
    SCOPED_TRACE(format.name);
    EXPECT_EQ(codesOf(format, {0, -0.0f}, scale), (Codes{0, 0, 0}));
    EXPECT_EQ(scale, 0);
    EXPECT_EQ(codesOf(format, {3e38f, -3e38f, 1}, scale), (Codes{127, -127, 0}));
    EXPECT_EQ(codesOf(format, {1e-37f, -2e-37f, 0}, scale), (Codes{0, 0, 0})) << "no factor";
    EXPECT_EQ(codesOf(format, {4e-37f, -2e-37f}, scale), (Codes{126, -63, 0})) << "subnormal scale";
    EXPECT_EQ(codesOf(format, {kInfinite, 1, -kInfinite}, scale), (Codes{0, 0, 0}));
    EXPECT_EQ(scale, kInfinite);
    EXPECT_EQ(codesOf(format, {NAN, 1, kInfinite}, scale), (Codes{0, 0, 0}));
    EXPECT_TRUE(std::isnan(scale));
  }
}

} // namespace
} // namespace sinter
