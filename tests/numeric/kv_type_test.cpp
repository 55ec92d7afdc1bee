// Which formats can hold keys and values, and what is said of others.
#include "numeric/formats/byte_blocks.h"
#include "numeric/formats/kv_type.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

TEST(KvType, NamesAreThoseOfFormatsThatKernelsWrite) {
  EXPECT_EQ(kvTypeNames(), "auto, f16, q8_0, bf16");
  ASSERT_NE(findKvType("q8_0"), nullptr);
  EXPECT_EQ(findKvType("q8_0")->type, TensorType::Q8_0);
  EXPECT_EQ(findKvType(kDefaultKvType)->type, TensorType::F16);
  ASSERT_NE(findKvType("bf16"), nullptr);
  EXPECT_EQ(findKvType("bf16")->type, TensorType::BF16);
  for (const char *name : {"", "Q8_0", "BF16", "AUTO", "q4_1", "f32", "q8_1"})
    EXPECT_EQ(findKvType(name), nullptr) << name;
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
