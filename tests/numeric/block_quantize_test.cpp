// Rounding into blocks: the reference's bytes, bounded error, and what is refused.
#include "numeric/golden.h"

#include <limits>

namespace sinter {
namespace {

class BlockQuantize : public ::testing::TestWithParam<const char *> {
protected:
  const BlockFormat &format() const { return *findBlockFormat(std::string_view(GetParam())); }
};

TEST_P(BlockQuantize, GoldenRowsGiveTheReferencesBytes) {
  Golden golden = readGolden("quantize", GetParam());
  std::vector<uint8_t> bytes(golden.bytes.size());
  ASSERT_TRUE(quantizeRow(format(), golden.values, bytes).has_value());
  for (size_t i = 0; i < bytes.size(); ++i)
    ASSERT_EQ(bytes[i], golden.bytes[i])
        << "byte " << i % format().blockBytes << " of block " << i / format().blockBytes;
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockQuantize,
                         ::testing::Values("F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"),
                         [](const auto &info) { return std::string(info.param); });

TEST(QuantizeRow, F32KeepsEveryBitIncludingNan) {
  std::vector<float> values = {std::bit_cast<float>(0x7fa12345u), -0.0f, 1e-40f,
                               -std::numeric_limits<float>::infinity()};
  std::vector<uint8_t> bytes(16);
  ASSERT_TRUE(quantizeRow(blockFormat(TensorType::F32), values, bytes).has_value());
  EXPECT_EQ(std::memcmp(bytes.data(), values.data(), 16), 0);
}

TEST(QuantizeRow, ElementsThatConvertOnTheirOwnMayBeInfinite) {
  std::vector<float> values = {std::numeric_limits<float>::infinity(), 1e30f};
  std::vector<uint8_t> bytes(4);
  ASSERT_TRUE(quantizeRow(blockFormat(TensorType::F16), values, bytes).has_value());
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x00, 0x7c, 0x00, 0x7c}));
}

TEST(QuantizeRow, OverwritesWhatTheBufferHeld) {
  const BlockFormat &format = blockFormat(TensorType::Q5_1);
  std::vector<float> values(32);
  for (size_t e = 0; e < values.size(); ++e)
    values[e] = static_cast<float>(e);
  std::vector<uint8_t> clean(format.blockBytes), dirty(format.blockBytes, 0xff);
  ASSERT_TRUE(quantizeRow(format, values, clean).has_value());
  ASSERT_TRUE(quantizeRow(format, values, dirty).has_value());
  EXPECT_EQ(clean, dirty);
}

TEST(QuantizeRow, AScaleWhoseReciprocalOverflowsStillGivesValidCodes) {
  const BlockFormat &format = blockFormat(TensorType::Q4_0);
  std::vector<float> values(32, 1e-44f);
  std::vector<uint8_t> bytes(format.blockBytes);
  ASSERT_TRUE(quantizeRow(format, values, bytes).has_value());
  std::vector<float> back(32, 1);
  dequantizeRow(format, bytes, back);
  for (float value : back)
    EXPECT_EQ(value, 0.0f);
}

TEST(QuantizeRow, NanAndInfinityAreInvalidArguments) {
  for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(64, 1.0f);
    values[40] = bad;
    std::vector<uint8_t> bytes(68);
    auto done = quantizeRow(blockFormat(TensorType::Q8_0), values, bytes);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, Code::InvalidArgument);
    EXPECT_NE(done.error().message.find("value 40"), std::string::npos);
  }
}

TEST(QuantizeRow, AScaleBeyondF16IsUnsupported) {
  std::vector<float> values(32, 1e30f);
  std::vector<uint8_t> bytes(34);
  auto done = quantizeRow(blockFormat(TensorType::Q8_0), values, bytes);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::Unsupported);
}

TEST(QuantizeRow, AFormatWithoutARoundingRuleIsUnsupported) {
  std::vector<float> values(256);
  std::vector<uint8_t> bytes(144);
  auto done = quantizeRow(blockFormat(TensorType::Q4_K), values, bytes);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::Unsupported);
}

} // namespace
} // namespace sinter
