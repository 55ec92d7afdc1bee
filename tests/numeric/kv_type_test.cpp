// Which formats can hold keys and values, and what is said of others.
#include "numeric/formats/byte_blocks.h"
#include "numeric/formats/kv_type.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

TEST(KvType, NamesAreThoseOfFormatsThatKernelsWrite) {
  EXPECT_EQ(kvTypeNames(), "auto, f16, q8_0, bf16, fp8");
  ASSERT_NE(findKvType("q8_0"), nullptr);
  EXPECT_EQ(findKvType("q8_0")->type, TensorType::Q8_0);
  EXPECT_EQ(findKvType(kDefaultKvType)->type, TensorType::F16);
  ASSERT_NE(findKvType("bf16"), nullptr);
  EXPECT_EQ(findKvType("bf16")->type, TensorType::BF16);
  ASSERT_NE(findKvType("fp8"), nullptr);
  EXPECT_EQ(findKvType("fp8")->blockBytes, 1);
  for (const char *name : {"", "FP8", "Q8_0", "BF16", "AUTO", "q4_1", "f32", "q8_1"})
    EXPECT_EQ(findKvType(name), nullptr) << name;
}

TEST(KvType, NoFileHasTensorsOfTheCachesOwnTypes) {
  for (const BlockFormat &format : cacheFormats()) {
    EXPECT_EQ(findBlockFormat(static_cast<uint32_t>(format.type)), nullptr) << format.name;
    EXPECT_EQ(findBlockFormat(format.name), nullptr);
    EXPECT_EQ(&blockFormat(format.type), &format);
  }
}

TEST(KvType, Fp8KeepsWhatItHoldsAndSaturates) {
  const BlockFormat &fp8 = blockFormat(TensorType::FP8);
  const std::vector<float> values = {0, 1, -0.5F, 448, 0x1p-9F, 1e9F, -464, 17};
  std::vector<uint8_t> bytes(values.size());
  ASSERT_TRUE(quantizeRow(fp8, values, bytes));
  std::vector<float> back(values.size());
  dequantizeRow(fp8, bytes, back);
  EXPECT_EQ(back, (std::vector<float>{0, 1, -0.5F, 448, 0x1p-9F, 448, -448, 16}));
}

TEST(KvType, BytesOfABlockLieWhereTheTableSays) {
  auto bytes = byteBlocks(blockFormat(TensorType::Q8_0));
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->scaleOffset, 0u);
  EXPECT_EQ(bytes->codeOffset, 2u);
  EXPECT_EQ(bytes->largestCode, 127);
}

TEST(KvType, FormatsOfOtherCodesAreRefusedByName) {
  for (TensorType type : {TensorType::Q4_0, TensorType::Q8_1, TensorType::Q8_K, TensorType::I8}) {
    auto bytes = byteBlocks(blockFormat(type));
    ASSERT_FALSE(bytes);
    EXPECT_TRUE(bytes.error().message.starts_with("format " + std::string(blockFormat(type).name) +
                                                  " is not rounded to within a kernel"))
        << bytes.error().message;
  }
}

} // namespace
} // namespace sinter
