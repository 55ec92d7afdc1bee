// Quantising by search: no worse than rounding and than the reference's search, what must come out
// exact, and what is refused.
#include "numeric/quantize/block_fit.h"

#include "numeric/fit_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace sinter {
namespace {

constexpr size_t kRowLength = 8192;

std::vector<uint8_t> fitted(const BlockFormat &format, const std::vector<float> &values) {
  std::vector<uint8_t> bytes(*format.rowBytes(values.size()), 0xa5);
  const auto done = fitRow(format, values, bytes);
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return bytes;
}

std::vector<float> dequantized(const BlockFormat &format, const std::vector<uint8_t> &bytes) {
  std::vector<float> values(bytes.size() / format.blockBytes * format.blockLength);
  dequantizeRow(format, bytes, values);
  return values;
}

std::vector<float> roundTrip(const BlockFormat &format, const std::vector<float> &values) {
  return dequantized(format, fitted(format, values));
}

double rootMeanSquare(const std::vector<float> &a, const std::vector<float> &b) {
  double sum = 0;
  for (size_t e = 0; e < a.size(); ++e)
    sum += (double{a[e]} - double{b[e]}) * (double{a[e]} - double{b[e]});
  return std::sqrt(sum / static_cast<double>(a.size()));
}

double largest(const std::vector<float> &values) {
  double most = 0;
  for (const float value : values)
    most = std::max(most, std::fabs(double{value}));
  return most;
}

const BlockFormat &named(std::string_view name) {
  return *findBlockFormat(name);
}

// The root mean square error of ggml 0.25.3 (ggml_quantize_chunk, no importance matrix) on the same
// rows, in units of 1e-6.
struct Reference {
  const char *format;
  double gaussian, heavyTails, positive, outlier;
};
std::ostream &operator<<(std::ostream &stream, const Reference &reference) {
  return stream << reference.format;
}

class BlockFit : public testing::TestWithParam<Reference> {
protected:
  const BlockFormat &format() const { return named(GetParam().format); }
  double error(RowKind kind) const {
    const std::vector<float> row = makeRow(kind, kRowLength);
    return rootMeanSquare(roundTrip(format(), row), row);
  }
};

TEST_P(BlockFit, ErrsNoMoreThanTheReference) {
  constexpr double kUnit = 1e-6, kDigits = 1.001; // of the table below
  EXPECT_LE(error(RowKind::Gaussian), GetParam().gaussian * kUnit * kDigits);
  EXPECT_LE(error(RowKind::HeavyTails), GetParam().heavyTails * kUnit * kDigits);
  EXPECT_LE(error(RowKind::Positive), GetParam().positive * kUnit * kDigits);
  EXPECT_LE(error(RowKind::Outlier), GetParam().outlier * kUnit * kDigits);
}

TEST_P(BlockFit, ZerosStayZeros) {
  const std::vector<float> row = makeRow(RowKind::Zero, 512);
  EXPECT_EQ(roundTrip(format(), row), row);
}

TEST_P(BlockFit, ConstantsStayWithinTheRoundingOfScales) {
  const bool coarse = format().code.number == Number::BF16 ||
                      format().scale.level1.number == Number::E8m0Half ||
                      format().scale.level1.number == Number::Ue4m3;
  const std::vector<float> row = makeRow(RowKind::Constant, 512);
  EXPECT_LE(rootMeanSquare(roundTrip(format(), row), row), 0.37 * (coarse ? 0.02 : 0.001));
}

TEST_P(BlockFit, TinyValuesKeepTheirMagnitude) {
  const std::vector<float> row = makeRow(RowKind::Tiny, kRowLength);
  EXPECT_LE(largest(roundTrip(format(), row)), 2 * largest(row));
}

TEST_P(BlockFit, SubnormalsAndMinusZeroGiveFiniteNumbers) {
  std::vector<float> row(512, 1e-44f);
  row[3] = -0.0f;
  row[300] = -1e-41f;
  for (const float value : roundTrip(format(), row))
    EXPECT_LE(std::fabs(value), 1e-30f);
}

TEST_P(BlockFit, EachBlockIsFittedByItself) {
  const std::vector<float> row = makeRow(RowKind::HeavyTails, 1024);
  const std::vector<uint8_t> whole = fitted(format(), row);
  const std::vector<uint8_t> half = fitted(format(), {row.begin() + 512, row.end()});
  EXPECT_TRUE(std::equal(half.begin(), half.end(), whole.begin() + std::ssize(half)));
}

TEST_P(BlockFit, NanAndInfinityAreRefusedByTheirPlace) {
  for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> row(512, 1.0f);
    row[300] = bad;
    std::vector<uint8_t> bytes(*format().rowBytes(row.size()));
    const auto done = fitRow(format(), row, bytes);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, Code::InvalidArgument);
    EXPECT_NE(done.error().message.find("value 300 of the row is"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, BlockFit,
    testing::Values(
        Reference{"F16", 4.119, 8.422, 22.61, 4.119}, Reference{"BF16", 33.32, 71.71, 180.2, 33.32},
        Reference{"Q4_0", 1678, 5414, 5212, 2337}, Reference{"Q4_1", 1536, 4307, 867.3, 3691},
        Reference{"Q5_0", 827.6, 2743, 2587, 1829}, Reference{"Q5_1", 743.0, 2057, 416.0, 2107},
        Reference{"Q8_0", 104.0, 339.6, 330.7, 447.9}, Reference{"Q2_K", 5808, 15500, 11060, 9200},
        Reference{"Q3_K", 2979, 8489, 8732, 4194}, Reference{"Q4_K", 1399, 3999, 2535, 2133},
        Reference{"Q5_K", 716.7, 2007, 1270, 1627}, Reference{"Q6_K", 352.4, 1052, 1106, 1172},
        Reference{"IQ4_NL", 1500, 4337, 6359, 2426}, Reference{"IQ4_XS", 1513, 4381, 6408, 2989},
        Reference{"MXFP4", 2277, 5840, 10790, 2793}, Reference{"NVFP4", 2096, 3969, 14410, 2443},
        Reference{"TQ2_0", 15850, 35510, 44360, 16030},
        Reference{"Q1_0", 11930, 31760, 11930, 34910},
        Reference{"Q2_0", 14150, 31140, 36900, 14250}),
    [](const auto &info) { return std::string(info.param.format); });

TEST(FitRow, ErrsNoMoreThanRounding) {
  for (const BlockFormat &format : blockFormats())
    for (const RowKind kind : {RowKind::Gaussian, RowKind::HeavyTails, RowKind::Constant,
                               RowKind::Outlier, RowKind::Tiny, RowKind::Huge}) {
      if (format.rounding == Rounding::None || !canFit(format))
        continue;
      const std::vector<float> row = makeRow(kind, kRowLength, 7);
      std::vector<uint8_t> rounded(*format.rowBytes(row.size()));
      ASSERT_TRUE(quantizeRow(format, row, rounded).has_value());
      EXPECT_LE(rootMeanSquare(roundTrip(format, row), row),
                rootMeanSquare(dequantized(format, rounded), row) * (1 + 1e-6))
          << format.name << " " << static_cast<int>(kind);
    }
}

// Where one scale is all there is to find, what was dequantized is found again.
TEST(FitRow, DequantizedRowsOfOneScaleABlockComeBackExactly) {
  for (const char *name :
       {"F32", "F16", "BF16", "Q4_0", "Q5_0", "Q8_0", "IQ4_NL", "MXFP4", "TQ2_0", "Q1_0", "Q2_0"}) {
    const std::vector<float> once = roundTrip(named(name), makeRow(RowKind::Gaussian, kRowLength));
    EXPECT_EQ(roundTrip(named(name), once), once) << name;
  }
}

TEST(FitRow, DequantizedRowsOfTwoLevelsComeBackNearerThanTheFirstTime) {
  for (const char *name : {"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS", "NVFP4"}) {
    const std::vector<float> row = makeRow(RowKind::Gaussian, kRowLength);
    const std::vector<float> once = roundTrip(named(name), row);
    EXPECT_LT(rootMeanSquare(roundTrip(named(name), once), once), rootMeanSquare(once, row) / 2)
        << name;
  }
}

TEST(FitRow, APowerOfTwoScalesTheBlockAndLeavesItsCodes) {
  for (const char *name : {"Q4_0", "Q4_1", "Q3_K", "Q4_K", "Q6_K", "IQ4_XS"}) {
    std::vector<float> row = makeRow(RowKind::Huge, kRowLength); // no subnormal scales
    std::vector<float> expected = roundTrip(named(name), row);
    for (std::vector<float> *values : {&row, &expected})
      for (float &value : *values)
        value /= 64;
    EXPECT_EQ(roundTrip(named(name), row), expected) << name;
  }
}

TEST(FitRow, ScalesBeyondTheLargestAreRefused) {
  const std::pair<const char *, float> cases[] = {
      {"Q4_0", 1e7f}, {"Q4_1", 1e7f}, {"Q8_0", 1e8f}, {"Q4_K", 1e9f}, {"NVFP4", 1e4f}};
  for (const auto &[name, value] : cases) {
    const std::vector<float> row(256, value);
    std::vector<uint8_t> bytes(*named(name).rowBytes(row.size()));
    const auto done = fitRow(named(name), row, bytes);
    ASSERT_FALSE(done.has_value()) << name;
    EXPECT_EQ(done.error().code, Code::Unsupported);
    EXPECT_NE(done.error().message.find("beyond the largest"), std::string::npos);
  }
}

TEST(FitRow, FormatsOfGridsAreRefused) {
  std::vector<float> row(256);
  for (const BlockFormat &format : blockFormats())
    if (!canFit(format) && 256 % format.blockLength == 0) {
      std::vector<uint8_t> bytes(*format.rowBytes(row.size()));
      const auto done = fitRow(format, row, bytes);
      ASSERT_FALSE(done.has_value()) << format.name;
      EXPECT_EQ(done.error().code, Code::Unsupported);
    }
}

TEST(FitRow, EveryFastTypeCanBeFitted) {
  for (const char *name : {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K",
                           "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4", "NVFP4", "F16", "BF16", "F32"})
    EXPECT_TRUE(canFit(named(name))) << name;
  for (const char *name : {"Q8_1", "Q8_K", "IQ2_XXS", "IQ1_M", "TQ1_0", "I8", "I64", "F64"})
    EXPECT_FALSE(canFit(named(name))) << name;
}

TEST(FitRow, EmptyRowsAreDone) {
  EXPECT_TRUE(fitRow(named("Q4_K"), {}, {}).has_value());
}

TEST(FitRow, ValuesBeyondF16AreRefused) {
  std::vector<uint8_t> bytes(4);
  const auto done = fitRow(named("F16"), std::vector<float>{1, 1e6f}, bytes);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::Unsupported);
  EXPECT_NE(done.error().message.find("value 1 of the row"), std::string::npos);
}

} // namespace
} // namespace sinter
