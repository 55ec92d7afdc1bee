// Formats of activations: which one weights ask for, and what their blocks hold.
#include "numeric/activation_format.h"
#include "numeric/stepped_scales.h"

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
  EXPECT_EQ(activationFormatFor(32, 32, Scales::Stepped).name, "Q8A");
  EXPECT_EQ(activationFormatFor(16, 64, Scales::Stepped).name, "Q8A_16");
  EXPECT_EQ(activationFormatFor(32, 256, Scales::Stepped).name, "Q8A_256");
  EXPECT_EQ(activationFormatFor(16, 8192, Scales::Stepped).name, "Q8A_16_256");
  EXPECT_EQ(activationFormatFor(32, 576, Scales::Stepped).name, "Q8A"); // of 256 two and a quarter
}

TEST(ActivationFormats, HaveFreeScalesOfOneBlockWhereTheseAreAskedFor) {
  EXPECT_EQ(activationFormatFor(32, 32, Scales::Free).name, "Q8A_32");
  EXPECT_EQ(activationFormatFor(16, 64, Scales::Free).name, "Q8A_16_32");
  EXPECT_EQ(activationFormatFor(32, 256, Scales::Free).name, "Q8A_256");
  EXPECT_EQ(activationFormatFor(16, 512, Scales::Free).name, "Q8A_16_256");
}

TEST(ActivationFormats, SteppedScalesTakeFourBytesMoreThanFreeOnes) {
  EXPECT_EQ(kQ8a32.bytes(), 44u);
  EXPECT_EQ(kQ8a32.codeOffset(), 12u);
  EXPECT_EQ(kQ8a.bytes(), 48u);
  EXPECT_EQ(kQ8a16By32.bytes(), 60u);
  EXPECT_EQ(kQ8a16.bytes(), 64u);
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

TEST(ActivationFormats, BlocksHoldTheirScaleCodesAndSums) {
  for (const ActivationFormat &format : activationFormats()) {
    SCOPED_TRACE(format.name);
    const std::vector<float> values = normals(format.scaleLength);
    const float most = largestOf(values);
    const float scale = format.isStepped() ? stepFrom(most / 127) : most / 127;
    const float factor = format.isStepped() ? 1 / scale : 127 / most;
    std::vector<uint8_t> blocks(values.size() / kActivationLength * format.bytes());
    quantizeActivation(format, values, blocks);
    for (uint32_t i = 0; i < format.scaleLength; ++i) {
      const uint8_t *block = &blocks[i / kActivationLength * format.bytes()];
      EXPECT_EQ(activationScale(format, block), scale);
      EXPECT_EQ(activationCode(format, block, i % kActivationLength),
                std::nearbyint(values[i] * factor));
    }
    for (uint32_t length : {kActivationLength, format.partLength})
      for (uint32_t first = 0; first < format.scaleLength; first += length) {
        const uint8_t *block = &blocks[first / kActivationLength * format.bytes()];
        uint32_t inBlock = first % kActivationLength;
        int32_t sum = 0;
        for (uint32_t i = 0; i < length; ++i)
          sum += activationCode(format, block, inBlock + i);
        const int32_t anchor =
            format.isStepped() ? at<int32_t>(block, ActivationFormat::kAnchorOffset) : 0;
        EXPECT_EQ(at<float>(block, format.sumOffset(length, inBlock / length)),
                  static_cast<float>(sum) * (format.isStepped() ? scale : 1));
        EXPECT_EQ(at<int32_t>(block, format.startOffset(length, inBlock / length)),
                  anchor - 128 * sum);
      }
  }
}

TEST(ActivationFormats, FreeScalesOfOneBlockAreWithinHalfAStepOfTheValues) {
  for (const ActivationFormat &format : {kQ8a32, kQ8a16By32}) {
    SCOPED_TRACE(format.name);
    for (float size : {1e-30f, 1.0f, 1e30f}) {
      const std::vector<float> values = normals(kActivationLength, size);
      std::vector<uint8_t> block(format.bytes());
      quantizeActivation(format, values, block);
      const auto scale = at<float>(block.data(), 0);
      EXPECT_EQ(scale, largestOf(values) / 127);
      int largest = 0;
      for (uint32_t i = 0; i < kActivationLength; ++i) {
        const int code = activationCode(format, block.data(), i);
        EXPECT_NEAR(scale * static_cast<float>(code), values[i], scale * 0.50001f);
        largest = std::max(largest, std::abs(code));
      }
      EXPECT_EQ(largest, 127);
    }
  }
}

// Of all exponents that scales have, and the largest dots of either sign that blocks can have.
TEST(ActivationFormats, DotsAboveAnAnchorAreExact) {
  constexpr int32_t kMost = 32 * 127 * 255;
  for (int exponent = -92; exponent < 127; ++exponent) {
    const float most = std::ldexp(1.3f, exponent);
    std::vector<uint8_t> block(kQ8a.bytes());
    quantizeActivation(kQ8a, std::vector<float>(kActivationLength, most), block);
    const float scale = activationScale(kQ8a, block.data());
    EXPECT_EQ(scale, stepFrom(most / 127)) << exponent;
    const auto anchor = at<float>(block.data(), ActivationFormat::kAnchorOffset);
    for (int32_t dot : {-kMost, -77, -1, 0, 1, kMost}) {
      const float above = std::bit_cast<float>(std::bit_cast<int32_t>(anchor) + dot) - anchor;
      const double factor = at<float>(block.data(), 0);
      EXPECT_EQ(above * factor, static_cast<double>(dot) * scale) << exponent << " " << dot;
    }
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
  for (const ActivationFormat &format : {kQ8a32, kQ8a16By32, kQ8a256}) {
    SCOPED_TRACE(format.name);
    EXPECT_EQ(codesOf(format, {0, -0.0f}, scale), (Codes{0, 0, 0}));
    EXPECT_EQ(scale, 0);
    EXPECT_EQ(codesOf(format, {3e38f, -3e38f, 1}, scale), (Codes{127, -127, 0}));
    EXPECT_EQ(codesOf(format, {1e-37f, -2e-37f, 0}, scale), (Codes{0, 0, 0})) << "no factor";
    EXPECT_EQ(codesOf(format, {4e-37f, -2e-37f}, scale), (Codes{127, -64, 0})) << "subnormal scale";
    EXPECT_EQ(codesOf(format, {kInfinite, 1, -kInfinite}, scale), (Codes{0, 0, 0}));
    EXPECT_EQ(scale, kInfinite);
    EXPECT_EQ(codesOf(format, {NAN, 1, kInfinite}, scale), (Codes{0, 0, 0}));
    EXPECT_TRUE(std::isnan(scale));
  }
}

TEST(ActivationFormats, SteppedScalesHaveCodesUpToTheLargest) {
  using Codes = std::vector<int>;
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  float scale;
  EXPECT_EQ(codesOf(kQ8a, {127, -126, 1}, scale), (Codes{127, -126, 1}));
  EXPECT_EQ(scale, 1) << "whole numbers stay what they are";
  EXPECT_EQ(codesOf(kQ8a, {142.875f, -1.125f}, scale), (Codes{127, -1, 0}));
  EXPECT_EQ(scale, 1.125f);
  EXPECT_EQ(codesOf(kQ8a, {127.01f}, scale), (Codes{113, 0, 0}));
  EXPECT_EQ(scale, 1.125f);
  EXPECT_EQ(codesOf(kQ8a, {0, -0.0f}, scale), (Codes{0, 0, 0}));
  EXPECT_EQ(scale, 0);
  EXPECT_EQ(codesOf(kQ8a, {3e38f, -3e38f, 1}, scale), (Codes{120, -120, 0}));
  EXPECT_EQ(codesOf(kQ8a, {127 * kLeastScale, -kLeastScale}, scale), (Codes{127, -1, 0}));
  EXPECT_EQ(codesOf(kQ8a, {100 * kLeastScale, -kLeastScale}, scale), (Codes{0, 0, 0}));
  EXPECT_EQ(scale, 0) << "below the least";
  EXPECT_EQ(codesOf(kQ8a, {1e-41f}, scale), (Codes{0, 0, 0}));
  EXPECT_EQ(scale, 0) << "a subnormal number";
  for (float number :
       {kInfinite, std::bit_cast<float>(0x7fc00000), std::bit_cast<float>(0x7fffffff),
        std::bit_cast<float>(0xffffffff), std::bit_cast<float>(0x7f800001)}) {
    EXPECT_EQ(codesOf(kQ8a, {number, 1}, scale), (Codes{0, 0, 0}));
    EXPECT_EQ(scale, kInfinite) << "times codes of 0: NaN";
  }
}

} // namespace
} // namespace sinter
