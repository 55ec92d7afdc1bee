// Integer scales: which formats have them, and that totals become the sums that they stand for.
#include "numeric/formats/integer_scales.h"

#include "numeric/formats/dot_packing.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace sinter {
namespace {

TEST(IntegerScales, AreThoseOfShortGroupsInWholeNumbers) {
  for (const BlockFormat &format : blockFormats()) {
    bool has = format.name == "Q2_K" || format.name == "Q3_K" || format.name == "Q6_K";
    EXPECT_EQ(integerScales(format).has_value(), has) << format.name;
  }
  EXPECT_EQ(integerScales(blockFormat(TensorType::Q3_K))->shift, 0u);
  EXPECT_EQ(integerScales(blockFormat(TensorType::Q6_K))->shift, 1u);
}

TEST(IntegerScales, NeedActivationsThatShareAScaleOverABlock) {
  const BlockFormat &format = blockFormat(TensorType::Q6_K);
  EXPECT_TRUE(integerScales(format, kQ8a16By256));
  EXPECT_FALSE(integerScales(format, kQ8a16));
}

class OfFormat : public ::testing::TestWithParam<TensorType> {
protected:
  // A block of random bytes with a unit of 1/8.
  std::vector<uint8_t> randomBlock() {
    std::vector<uint8_t> block(format().blockBytes);
    for (uint8_t &byte : block)
      byte = static_cast<uint8_t>(random_());
    const uint32_t unit = format().scale.level1.planes[0].map.byte(0);
    block[unit] = 0x00;
    block[unit + 1] = 0x30;
    return block;
  }
  const BlockFormat &format() const { return blockFormat(GetParam()); }
  int32_t groups() const { return format().blockLength / length(); }
  int32_t length() const { return static_cast<int32_t>(dotGroupLength(format())); }
  int32_t dotOf(const std::vector<uint8_t> &block, std::span<const int32_t> codes, int32_t group) {
    int32_t dot = 0;
    for (int32_t e = group * length(); e < (group + 1) * length(); ++e)
      dot += codes[e] * static_cast<int32_t>(format().number(block.data(), e));
    return dot;
  }

  std::mt19937 random_{7};
};

TEST_P(OfFormat, NumbersTimesTheUnitAreTheScales) {
  for (int round = 0; round < 50; ++round) {
    const std::vector<uint8_t> block = randomBlock();
    for (uint32_t e = 0; e < format().blockLength; ++e)
      EXPECT_EQ(static_cast<float>(scaleNumber(format(), block.data(), e)) * 0.125f,
                format().scale.value(block.data(), e));
  }
}

TEST_P(OfFormat, TotalsStandForTheSums) {
  const IntegerScales integers = *integerScales(format());
  for (int round = 0; round < 200; ++round) {
    const std::vector<uint8_t> block = randomBlock();
    std::vector<int32_t> codes(format().blockLength);
    for (int32_t &code : codes)
      code = round % 2 ? static_cast<int32_t>(random_() % 255) - 127 : (random_() % 2 ? 127 : -127);
    int64_t total = 0;
    double exact = 0, numbers = 0;
    for (int32_t g = 0; g < groups(); ++g) {
      const int32_t dot = dotOf(block, codes, g);
      const int32_t number = scaleNumber(format(), block.data(), g * length());
      EXPECT_LE(std::abs(integers.shortened(dot)), std::numeric_limits<int16_t>::max());
      total += int64_t(integers.shortened(dot)) * number;
      exact += 0.125 * dot * number;
      numbers += std::abs(number);
    }
    ASSERT_LE(std::abs(total), std::numeric_limits<int32_t>::max());
    const float sum = totalScale(format(), block.data()).of(static_cast<int32_t>(total));
    // Each shortened dot is off by at most half of the largest number that its lost bits hold.
    const double most = 0.125 * numbers * ((1 << integers.shift) - 1) / 2.0;
    EXPECT_NEAR(sum, exact, most + 1e-6 * std::abs(exact));
  }
}

TEST_P(OfFormat, LargestDotsFitWords) {
  const IntegerScales integers = *integerScales(format());
  for (uint8_t byte : {0x00, 0xff}) {
    const std::vector<uint8_t> block(format().blockBytes, byte);
    for (int32_t code : {-127, 127}) {
      const std::vector<int32_t> codes(format().blockLength, code);
      EXPECT_LE(std::abs(integers.shortened(dotOf(block, codes, 0))),
                std::numeric_limits<int16_t>::max());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, OfFormat,
                         ::testing::Values(TensorType::Q2_K, TensorType::Q3_K, TensorType::Q6_K),
                         [](const auto &info) {
                           return std::string(blockFormat(info.param).name);
                         });

} // namespace
} // namespace sinter
