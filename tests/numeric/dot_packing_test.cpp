// Packings for integer dots: every byte moves once, and codes are found where the packing says.
#include "numeric/formats/dot_packing.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace sinter {
namespace {

std::vector<const BlockFormat *> packedFormats() {
  std::vector<const BlockFormat *> formats;
  for (const BlockFormat &format : blockFormats())
    if (dotPacking(format))
      formats.push_back(&format);
  return formats;
}

class Packing : public ::testing::TestWithParam<const BlockFormat *> {
protected:
  const BlockFormat &format() const { return *GetParam(); }
  DotPacking packing_ = *dotPacking(*GetParam());
};

// One row's block with its fields one after another, as a group of one row would be packed.
std::vector<uint8_t> packRow(const DotPacking &packing, const std::vector<uint8_t> &block) {
  std::vector<uint8_t> out(block.size());
  for (const PackedField &field : packing.fields)
    for (uint32_t unit = 0; unit < field.units(); ++unit) {
      const auto from = block.begin() + field.offset + unit * field.unitBytes;
      std::vector<uint8_t> bytes(from, from + field.unitBytes);
      for (uint8_t &byte : bytes)
        byte ^= field.xorByte;
      if (field.itemBits != 8) {
        uint32_t word;
        std::memcpy(&word, bytes.data(), sizeof word);
        word = turnItems(word, field.itemBits);
        std::memcpy(bytes.data(), &word, sizeof word);
      }
      std::ranges::copy(bytes, out.begin() + field.placeOf(unit));
    }
  return out;
}

TEST_P(Packing, MovesEveryByteOnce) {
  std::vector<int> moved(format().blockBytes);
  for (const PackedField &field : packing_.fields) {
    EXPECT_EQ(field.bytes % field.unitBytes, 0u);
    ASSERT_LE(field.offset + field.bytes, moved.size());
    for (uint32_t byte = 0; byte < field.bytes; ++byte)
      ++moved[field.offset + byte];
  }
  EXPECT_EQ(moved, std::vector<int>(format().blockBytes, 1));
}

TEST_P(Packing, CodesThatShareBytesLieWordByWordOfTheirStretches) {
  constexpr uint32_t kWords = kActivationLength / 4;
  const uint32_t shared = packing_.sharedLength / 4;
  std::set<uint32_t> before;
  for (uint32_t first = 0; first < packing_.groups.size(); first += shared)
    for (uint32_t word = 0; word < kWords; ++word) {
      std::set<uint32_t> now;
      for (uint32_t at = first + word; at < first + shared; at += kWords)
        for (const CodePart &part : packing_.groups[at].used())
          if (!before.contains(part.byte))
            now.insert(part.byte);
      if (!before.empty() && !now.empty())
        EXPECT_GT(*now.begin(), *before.rbegin());
      before.merge(now);
    }
}

TEST_P(Packing, ElementsOfOneSharedLengthHaveBytesOfTheirOwn) {
  std::map<uint32_t, uint32_t> owners;
  for (uint32_t e = 0; e < format().blockLength; ++e)
    for (const CodePart &part : packing_.groups[e / 4].used()) {
      const uint32_t owner = e / packing_.sharedLength;
      EXPECT_EQ(owners.try_emplace(part.byte + e % 4, owner).first->second, owner) << e;
    }
}

TEST_P(Packing, FindsTheNumberOfEveryElement) {
  std::mt19937 random(3);
  std::vector<uint8_t> block(format().blockBytes);
  for (uint8_t &byte : block)
    byte = static_cast<uint8_t>(random());
  std::vector<uint8_t> packed = packRow(packing_, block);
  for (uint32_t e = 0; e < format().blockLength; ++e) {
    uint32_t code = 0;
    for (const CodePart &part : packing_.groups[e / 4].used())
      code |= (packed[part.byte + e % 4] >> part.shift & ((1u << part.width) - 1)) << part.to;
    if (!packing_.table.empty())
      code = packing_.table[code];
    float number = format().code.value(block.data(), e);
    if (format().table.present())
      number = format().table.values[format().code.raw(block.data(), e)];
    ASSERT_EQ(static_cast<int32_t>(code) - packing_.zero, number - format().zero.base) << e;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Packing, ::testing::ValuesIn(packedFormats()),
                         [](const auto &info) { return std::string(info.param->name); });

TEST(DotPacking, ExistsForTheFormatsThatPeopleUse) {
  for (const char *name : {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K",
                           "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4", "NVFP4"}) {
    auto packing = dotPacking(*findBlockFormat(std::string_view(name)));
    EXPECT_TRUE(packing) << packing.error().message;
  }
}

TEST(DotPacking, KnowsHowManyElementsShareBytes) {
  auto shared = [](const char *name) {
    return dotPacking(*findBlockFormat(std::string_view(name)))->sharedLength;
  };
  EXPECT_EQ(shared("Q4_1"), 32u);
  EXPECT_EQ(shared("IQ4_XS"), 32u);
  EXPECT_EQ(shared("Q4_K"), 64u);
  EXPECT_EQ(shared("Q6_K"), 128u);
  EXPECT_EQ(shared("Q3_K"), 256u);
}

TEST(DotPacking, RefusesCodesOfSeveralElementsByName) {
  auto packing = dotPacking(*findBlockFormat("IQ2_XXS"));
  ASSERT_FALSE(packing);
  EXPECT_EQ(packing.error().code, Code::Unsupported);
  EXPECT_NE(packing.error().message.find("format IQ2_XXS has "), std::string::npos);
}

TEST(TurnedItems, ComeBack) {
  std::mt19937 random(4);
  for (uint8_t bits : {1, 2, 4, 8})
    for (int i = 0; i < 100; ++i) {
      auto word = static_cast<uint32_t>(random());
      EXPECT_EQ(turnItemsBack(turnItems(word, bits), bits), word) << int(bits);
    }
}

TEST(TurnedItems, OfOneBitSpreadFourNeighboursOverFourBytes) {
  EXPECT_EQ(turnItems(0xf, 1), 0x01010101u);
  EXPECT_EQ(turnItems(0x10, 1), 0x00000002u);
}

} // namespace
} // namespace sinter
