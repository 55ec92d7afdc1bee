// The format table contradicts neither itself nor ggml's sizes.
#include "numeric/golden.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace sinter {
namespace {

class BlockTable : public ::testing::TestWithParam<BlockFormat> {};

uint32_t codeCount(const BlockFormat &format) {
  const CodeRun &last = format.runs[format.runCount - 1];
  return last.firstCode + last.codes;
}

struct Covered {
  std::vector<int> uses; // per bit of the block
  void add(const Field &field, uint32_t items) {
    for (const BitPlane &plane : field.used())
      for (uint32_t i = 0; i < items; ++i)
        for (uint32_t k = 0; k < plane.width; ++k)
          uses.at(plane.map.bit(i) + k)++;
  }
  void add(const GroupFactor &factor, uint32_t length) {
    if (factor.level1Length)
      add(factor.level1, length / factor.level1Length);
    if (factor.level2Length)
      add(factor.level2, length / factor.level2Length);
  }
};

TEST_P(BlockTable, EveryBitOfABlockBelongsToExactlyOneItem) {
  const BlockFormat &format = GetParam();
  Covered covered{std::vector<int>(format.blockBytes * 8)};
  covered.add(format.code, codeCount(format));
  covered.add(format.sign, format.blockLength / BlockFormat::kSignLanes);
  covered.add(format.scale, format.blockLength);
  covered.add(format.min, format.blockLength);
  if (format.zero.groupLength)
    covered.add(format.zero.field, format.blockLength / format.zero.groupLength);
  for (uint32_t b = 0; b < format.derived.length * 8u; ++b)
    covered.uses.at(format.derived.offset * 8u + b)++;
  for (size_t bit = 0; bit < covered.uses.size(); ++bit)
    ASSERT_EQ(covered.uses[bit], 1) << "bit " << bit % 8 << " of byte " << bit / 8;
}

TEST_P(BlockTable, EveryElementHasItsOwnCodeAndLane) {
  const BlockFormat &format = GetParam();
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (uint32_t e = 0; e < format.blockLength; ++e) {
    CodeAt at = format.codeOf(e);
    EXPECT_LT(at.code, codeCount(format));
    EXPECT_LT(at.lane, std::max<uint32_t>(format.table.lanes, 1));
    EXPECT_TRUE(seen.insert({at.code, at.lane}).second) << e;
  }
}

TEST_P(BlockTable, GroupsAreWholeMultiplesOfEightElements) {
  const BlockFormat &format = GetParam();
  for (uint32_t length :
       {format.scale.level1Length, format.scale.level2Length, format.min.level1Length,
        format.min.level2Length, format.zero.groupLength})
    EXPECT_TRUE(length % 8 == 0 && (length == 0 || format.blockLength % length == 0)) << length;
}

TEST_P(BlockTable, AStoredCodeReadsBackAndTouchesNoOther) {
  const BlockFormat &format = GetParam();
  uint64_t ones = ~uint64_t{0} >> (64 - format.code.width());
  for (uint32_t c = 0; c < codeCount(format); ++c) {
    std::vector<uint8_t> block(format.blockBytes);
    format.code.store(block.data(), c, ones);
    for (uint32_t other = 0; other < codeCount(format); ++other)
      ASSERT_EQ(format.code.raw(block.data(), other), other == c ? ones : 0) << c << ' ' << other;
  }
}

TEST_P(BlockTable, LookupsByNumberAndNameFindIt) {
  const BlockFormat &format = GetParam();
  EXPECT_EQ(findBlockFormat(static_cast<uint32_t>(format.type))->name, format.name);
  EXPECT_EQ(findBlockFormat(format.name)->type, format.type);
  EXPECT_EQ(blockFormat(format.type).blockBytes, format.blockBytes);
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockTable,
                         ::testing::ValuesIn(blockFormats().begin(), blockFormats().end()),
                         [](const auto &info) { return std::string(info.param.name); });

class BlockTableOfCodes : public ::testing::TestWithParam<BlockFormat> {};

TEST_P(BlockTableOfCodes, HasOneEntryForEachRawCode) {
  EXPECT_EQ(GetParam().table.count, 1u << GetParam().code.width());
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockTableOfCodes,
                         ::testing::ValuesIn(formatsWhere([](const BlockFormat &f) {
                           return f.table.present();
                         })),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(BlockTableWhole, HoldsEveryTypeOfGgufWithGgmlsSizes) {
  using Row = std::tuple<std::string_view, uint32_t, uint32_t, uint32_t>;
  const std::vector<Row> expected = {
      {"F32", 0, 1, 4},         {"F16", 1, 1, 2},         {"Q4_0", 2, 32, 18},
      {"Q4_1", 3, 32, 20},      {"Q5_0", 6, 32, 22},      {"Q5_1", 7, 32, 24},
      {"Q8_0", 8, 32, 34},      {"Q8_1", 9, 32, 36},      {"Q2_K", 10, 256, 84},
      {"Q3_K", 11, 256, 110},   {"Q4_K", 12, 256, 144},   {"Q5_K", 13, 256, 176},
      {"Q6_K", 14, 256, 210},   {"Q8_K", 15, 256, 292},   {"IQ2_XXS", 16, 256, 66},
      {"IQ2_XS", 17, 256, 74},  {"IQ3_XXS", 18, 256, 98}, {"IQ1_S", 19, 256, 50},
      {"IQ4_NL", 20, 32, 18},   {"IQ3_S", 21, 256, 110},  {"IQ2_S", 22, 256, 82},
      {"IQ4_XS", 23, 256, 136}, {"I8", 24, 1, 1},         {"I16", 25, 1, 2},
      {"I32", 26, 1, 4},        {"I64", 27, 1, 8},        {"F64", 28, 1, 8},
      {"IQ1_M", 29, 256, 56},   {"BF16", 30, 1, 2},       {"TQ1_0", 34, 256, 54},
      {"TQ2_0", 35, 256, 66},   {"MXFP4", 39, 32, 17},    {"NVFP4", 40, 64, 36},
      {"Q1_0", 41, 128, 18},    {"Q2_0", 42, 64, 18}};
  std::vector<Row> found;
  for (const BlockFormat &f : blockFormats())
    found.emplace_back(f.name, static_cast<uint32_t>(f.type), f.blockLength, f.blockBytes);
  EXPECT_EQ(found, expected);
}

TEST(BlockTableWhole, DroppedAndUnknownTypesAreNotFound) {
  for (uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 0xffffffffu})
    EXPECT_EQ(findBlockFormat(type), nullptr) << type;
  EXPECT_EQ(findBlockFormat("Q4_2"), nullptr);
}

TEST(BlockRowBytes, ARowThatIsNotWholeBlocksHasNoSize) {
  const BlockFormat &format = blockFormat(TensorType::Q4_1);
  EXPECT_EQ(format.rowBytes(576), 576u / 32 * 20);
  EXPECT_EQ(format.rowBytes(0), 0u);
  EXPECT_EQ(format.rowBytes(33), std::nullopt);
}

TEST(BlockRowBytes, ASizeBeyondSixtyFourBitsIsNone) {
  EXPECT_EQ(blockFormat(TensorType::F64).rowBytes(uint64_t{1} << 61), std::nullopt);
}

TEST(BlockTableExamples, Q4_1sSecondHalfLiesInTheHighNibbles) {
  const BitPlane &plane = blockFormat(TensorType::Q4_1).code.planes[0];
  EXPECT_EQ(plane.map.byte(3), 7u);
  EXPECT_EQ(plane.map.shift(3), 0u);
  EXPECT_EQ(plane.map.byte(19), 7u);
  EXPECT_EQ(plane.map.shift(19), 4u);
}

} // namespace
} // namespace sinter
