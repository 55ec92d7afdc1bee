// Blocks in words: every byte has one place, rows do not share any, and where fields lie adds up.
#include "numeric/formats/word_packing.h"

#include <gtest/gtest.h>

#include <set>

namespace sinter {
namespace {

std::vector<const BlockFormat *> scaledFormats() {
  std::vector<const BlockFormat *> formats;
  for (const BlockFormat &format : blockFormats())
    if (!format.isPlain())
      formats.push_back(&format);
  return formats;
}

class WordPackings : public testing::TestWithParam<const BlockFormat *> {
protected:
  const BlockFormat &format_ = *GetParam();
  WordPacking packing_ = wordPacking(format_);
};

TEST_P(WordPackings, PutEachByteOfEachRowInAPlaceOfItsOwn) {
  std::set<uint32_t> places;
  for (uint32_t byte = 0; byte < format_.blockBytes; ++byte)
    for (uint32_t row = 0; row < kWordRows; ++row)
      places.insert(packing_.packedByte(byte) + row * packing_.rowBytes(byte));
  EXPECT_EQ(places.size(), format_.blockBytes * kWordRows);
  EXPECT_EQ(*places.rbegin(), format_.blockBytes * kWordRows - 1);
}

TEST_P(WordPackings, LieWhereTheFieldsOfRecipesPutThem) {
  auto fields = packedFields(format_, kWordRows);
  ASSERT_TRUE(fields);
  for (const PackedField &field : *fields)
    for (uint32_t at = 0; at < field.bytes; ++at) {
      const uint32_t unit = at / field.unitBytes;
      EXPECT_EQ(packing_.packedByte(field.offset + at),
                field.placeOf(unit) * kWordRows + at % field.unitBytes);
      EXPECT_EQ(packing_.rowBytes(field.offset + at), field.unitBytes);
    }
}

// Words begin at multiples of four bytes of the group, wherever a block lies in a row.
TEST_P(WordPackings, AlignWords) {
  for (uint32_t word = 0; word < packing_.words; ++word)
    EXPECT_EQ(packing_.packedByte(packing_.first + word * 4) % 4, 0u);
  EXPECT_EQ(format_.blockBytes * kWordRows % 4, 0u);
}

// How many numbers a field has.
uint32_t itemsOf(const Field &field, const BlockFormat &format) {
  const GroupFactor &factor = &field == &format.min.level2 ? format.min : format.scale;
  if (&field == &format.scale.level2 || &field == &format.min.level2)
    return format.blockLength / factor.level2Length;
  if (&field == &format.scale.level1)
    return format.blockLength / factor.level1Length;
  if (&field == &format.code)
    return format.runs[format.runCount - 1].firstCode + format.runs[format.runCount - 1].codes;
  return &field == &format.sign ? format.blockLength / BlockFormat::kSignLanes
                                : format.blockLength / format.zero.groupLength;
}

// Parts of threads and of registers add up in words too: no sum of a plane's bytes carries from one
// word into the next.
TEST_P(WordPackings, KeepPlacesOfBitsLinear) {
  for (const Field *field : {&format_.code, &format_.sign, &format_.zero.field,
                             &format_.scale.level1, &format_.scale.level2, &format_.min.level2})
    for (const BitPlane &plane : field->used())
      for (uint32_t item = 0; item < itemsOf(*field, format_); ++item) {
        uint32_t at = packing_.packedByte(plane.map.base / 8), bits = plane.map.base % 8;
        bool inBytes = true;
        for (uint32_t bit = 0; bit < 8; ++bit) {
          const uint32_t weight = (item >> bit & 1) * plane.map.weight[bit], in = weight / 8 % 4;
          at += (weight / 8 - in) * kWordRows + in;
          bits += weight % 8;
        }
        inBytes &= bits < 8 && plane.map.byte(item) < format_.blockBytes &&
                   packing_.inWords(plane.map.byte(item));
        if (inBytes)
          EXPECT_EQ(at, packing_.packedByte(plane.map.byte(item))) << item;
      }
}

INSTANTIATE_TEST_SUITE_P(Formats, WordPackings, testing::ValuesIn(scaledFormats()),
                         [](const auto &info) { return std::string(info.param->name); });

TEST(PackedFields, ExistForRowsOfDotsAndOfWordsAlone) {
  const BlockFormat &format = blockFormat(TensorType::Q4_K);
  EXPECT_EQ(packedFields(format, kInterleavedRows)->size(), dotPacking(format)->fields.size());
  EXPECT_EQ(packedFields(format, kWordRows)->size(), 1u);
  EXPECT_EQ(packedFields(format, 4).error().code, Code::Unsupported);
  EXPECT_EQ(packedFields(blockFormat(TensorType::F16), kWordRows).error().code, Code::Unsupported);
}

} // namespace
} // namespace sinter
