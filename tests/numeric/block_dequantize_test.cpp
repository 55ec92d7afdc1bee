// Every format decodes its golden blocks bit for bit.
#include "numeric/golden.h"

#include <algorithm>

namespace sinter {
namespace {

class BlockDequantize : public ::testing::TestWithParam<BlockFormat> {};

TEST_P(BlockDequantize, GoldenBlocksDequantizeBitForBit) {
  const BlockFormat &format = GetParam();
  Golden golden = readGolden("decode", format.name);
  ASSERT_EQ(golden.blockBytes, format.blockBytes);
  ASSERT_EQ(golden.blockLength, format.blockLength);
  std::vector<float> values(golden.values.size());
  dequantizeRow(format, golden.bytes, values);
  for (size_t e = 0; e < values.size(); ++e)
    ASSERT_TRUE(sameValue(values[e], golden.values[e]))
        << "element " << e % format.blockLength << " of block " << e / format.blockLength << ": "
        << values[e] << ", expected " << golden.values[e];
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockDequantize,
                         ::testing::ValuesIn(blockFormats().begin(), blockFormats().end()),
                         [](const auto &info) { return std::string(info.param.name); });

class BlockDequantizeF16Scale : public ::testing::TestWithParam<BlockFormat> {};

TEST_P(BlockDequantizeF16Scale, GoldensHoldNanAndInfinity) {
  Golden golden = readGolden("decode", GetParam().name);
  EXPECT_TRUE(std::ranges::any_of(golden.values, [](float v) { return std::isnan(v); }));
  EXPECT_TRUE(std::ranges::any_of(golden.values, [](float v) { return std::isinf(v); }));
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockDequantizeF16Scale,
                         ::testing::ValuesIn(formatsWhere([](const BlockFormat &format) {
                           return format.scale.level1.number == Number::F16;
                         })),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(BlockDequantizeRow, AnEmptyRowDecodesToNothing) {
  dequantizeRow(blockFormat(TensorType::Q4_K), {}, {});
  SUCCEED();
}

} // namespace
} // namespace sinter
