// Every format decodes its golden blocks bit for bit.
#include "numeric/golden.h"

#include <algorithm>

namespace sinter {
namespace {

class BlockDecode : public ::testing::TestWithParam<BlockFormat> {};

TEST_P(BlockDecode, GoldenBlocksDecodeBitForBit) {
  const BlockFormat &format = GetParam();
  Golden golden = readGolden("decode", format.name);
  ASSERT_EQ(golden.blockBytes, format.blockBytes);
  ASSERT_EQ(golden.blockLength, format.blockLength);
  std::vector<float> values(golden.values.size());
  decodeRow(format, golden.bytes, values);
  for (size_t e = 0; e < values.size(); ++e)
    ASSERT_TRUE(sameValue(values[e], golden.values[e]))
        << "element " << e % format.blockLength << " of block " << e / format.blockLength << ": "
        << values[e] << ", expected " << golden.values[e];
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockDecode,
                         ::testing::ValuesIn(blockFormats().begin(), blockFormats().end()),
                         [](const auto &info) { return std::string(info.param.name); });

class BlockDecodeF16Scale : public ::testing::TestWithParam<BlockFormat> {};

TEST_P(BlockDecodeF16Scale, GoldensHoldNanAndInfinity) {
  Golden golden = readGolden("decode", GetParam().name);
  EXPECT_TRUE(std::ranges::any_of(golden.values, [](float v) { return std::isnan(v); }));
  EXPECT_TRUE(std::ranges::any_of(golden.values, [](float v) { return std::isinf(v); }));
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockDecodeF16Scale,
                         ::testing::ValuesIn(formatsWhere([](const BlockFormat &format) {
                           return format.scale.level1.number == Number::F16;
                         })),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(BlockDecodeRow, AnEmptyRowDecodesToNothing) {
  decodeRow(blockFormat(TensorType::Q4_K), {}, {});
  SUCCEED();
}

} // namespace
} // namespace sinter
