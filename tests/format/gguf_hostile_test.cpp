// Broken GGUF files: each kind is refused with its code and at its byte.
#include "format/gguf_check.h"
#include "format/gguf_writer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>

namespace sinter {
namespace {

using enum GgufType;
constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

struct Broken {
  const char *name;
  Code code;
  void (*build)(GgufWriter &); // marks the byte at which the error is expected
};
void PrintTo(const Broken &broken, std::ostream *out) {
  *out << broken.name;
}

// The header of one tensor and no metadata; of one entry and no tensor.
GgufWriter &oneTensor(GgufWriter &w) {
  return w.header(1, 0);
}
GgufWriter &oneValue(GgufWriter &w) {
  return w.header(0, 1);
}

const Broken kHeader[] = {
    {"EmptyInput", Code::Truncated, [](GgufWriter &w) { w.mark(); }},
    {"HalfAMagic", Code::Truncated, [](GgufWriter &w) { w.mark().raw("GG"); }},
    {"AnotherMagic", Code::Corrupt, [](GgufWriter &w) { w.mark().raw("GGML").zeros(40); }},
    {"ReversedMagic", Code::Corrupt, [](GgufWriter &w) { w.mark().raw("FUGG").zeros(40); }},
    {"MagicAlone", Code::Truncated, [](GgufWriter &w) { w.raw("GGUF").mark(); }},
    {"HalfAVersion", Code::Truncated, [](GgufWriter &w) { w.raw("GGUF").mark().raw("\3\0"); }},
    {"VersionZero", Code::Unsupported,
     [](GgufWriter &w) { w.raw("GGUF").mark().u32(0).zeros(16); }},
    {"VersionOne", Code::Unsupported, [](GgufWriter &w) { w.raw("GGUF").mark().u32(1).zeros(16); }},
    {"VersionFour", Code::Unsupported,
     [](GgufWriter &w) { w.raw("GGUF").mark().u32(4).zeros(16); }},
    {"BigEndian", Code::Unsupported,
     [](GgufWriter &w) { w.raw("GGUF").mark().u32(0x03000000).zeros(16); }},
    {"NoTensorCount", Code::Truncated, [](GgufWriter &w) { w.raw("GGUF").u32(3).mark(); }},
    {"NoMetadataCount", Code::Truncated,
     [](GgufWriter &w) { w.raw("GGUF").u32(3).u64(0).mark().u32(0); }},
    {"HugeTensorCount", Code::Truncated,
     [](GgufWriter &w) { w.raw("GGUF").u32(3).mark().u64(kHuge).u64(0).zeros(64); }},
    {"HugeMetadataCount", Code::Truncated,
     [](GgufWriter &w) { w.raw("GGUF").u32(3).u64(0).mark().u64(kHuge).zeros(64); }},
    {"NegativeTensorCount", Code::Truncated,
     [](GgufWriter &w) { w.raw("GGUF").u32(3).mark().u64(uint64_t{1} << 63).u64(0); }},
    {"OneTensorMoreThanFits", Code::Truncated,
     [](GgufWriter &w) { w.raw("GGUF").u32(3).mark().u64(3).u64(0).zeros(74); }},
    {"OneEntryMoreThanFits", Code::Truncated,
     [](GgufWriter &w) { w.raw("GGUF").u32(3).u64(0).mark().u64(2).zeros(27); }},
    {"MoreTensorsThanTheLimit", Code::Exhausted,
     [](GgufWriter &w) {
       w.raw("GGUF")
           .u32(3)
           .mark()
           .u64(kGgufMaxTensors + 1)
           .u64(0)
           .zeros((kGgufMaxTensors + 1) * 25);
     }},
    {"MoreEntriesThanTheLimit", Code::Exhausted,
     [](GgufWriter &w) {
       w.raw("GGUF").u32(3).u64(0).mark().u64(kGgufMaxKeys + 1).zeros((kGgufMaxKeys + 1) * 14);
     }},
    {"TensorsThatMetadataLeavesNoRoomFor", Code::Truncated,
     [](GgufWriter &w) {
       w.raw("GGUF").u32(3).mark().u64(2).u64(1).text("k", std::string(40, 'x')).zeros(49);
     }},
};

const Broken kMetadata[] = {
    {"KeyLengthCutOff", Code::Truncated,
     [](GgufWriter &w) { w.header(0, 2).text("a", "long enough").mark().zeros(7); }},
    {"EmptyKey", Code::Corrupt, [](GgufWriter &w) { oneValue(w).mark().key("", U8).zeros(32); }},
    {"KeyLongerThanTheLimit", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).mark().key(std::string(65536, 'k'), U8).u8(0); }},
    {"KeyLongerThanTheFile", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).u64(60000).mark().zeros(100); }},
    {"HugeKeyLength", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).mark().u64(kHuge).zeros(100); }},
    {"KeyWithAZeroByte", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).u64(3).raw("a").mark().u8(0).raw("b").type(U8).u8(0); }},
    {"KeyWithALineBreak", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).u64(3).raw("ab").mark().raw("\n").type(U8).u8(0); }},
    {"NoValueType", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).string("longer").mark().u8(0); }},
    {"UnknownValueType", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).string("k").mark().u32(13).zeros(8); }},
    {"NoValue", Code::Truncated, [](GgufWriter &w) { oneValue(w).key("longer", U32).mark(); }},
    {"HalfAValue", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).key("k", U64).mark().zeros(7); }},
    {"BoolOfTwo", Code::Corrupt, [](GgufWriter &w) { oneValue(w).key("k", Bool).mark().u8(2); }},
    {"BoolArrayWithAThree", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).array("k", Bool, 3).u8(0).u8(1).mark().u8(3); }},
    {"NoStringLength", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).key("k", String).mark().zeros(4); }},
    {"StringBeyondTheEnd", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).key("k", String).u64(5).mark().raw("1234"); }},
    {"HugeString", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).key("k", String).u64(kHuge).mark().raw("1234"); }},
    {"RepeatedKey", Code::Corrupt,
     [](GgufWriter &w) {
       w.header(0, 3).value("a", U8, uint8_t{0}).value("b", U8, uint8_t{0}).u64(1).mark().raw("a");
       w.type(U8).u8(0);
     }},
    {"NoElementType", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).key("longer", Array).mark(); }},
    {"UnknownElementType", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).key("k", Array).mark().u32(99).u64(0); }},
    {"NoArrayLength", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).key("k", Array).type(U8).mark().zeros(3); }},
    {"HugeArrayOfBytes", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).array("k", U8, kHuge).mark().zeros(9); }},
    {"ArrayWhoseSizeOverflows", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).array("k", U64, uint64_t{1} << 61).mark().zeros(16); }},
    {"ArrayOneElementShort", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).array("k", F32, 3).mark().zeros(11); }},
    {"HugeArrayOfStrings", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).array("k", String, kHuge).mark().string("a"); }},
    {"SecondStringOfAnArrayBeyondTheEnd", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).array("k", String, 2).string("a").u64(9).mark().raw("b"); }},
    {"HugeArrayOfArrays", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).array("k", Array, kHuge).mark().zeros(64); }},
    {"ArraysNestedTooDeep", Code::Unsupported,
     [](GgufWriter &w) {
       oneValue(w).array("k", Array, 1).type(Array).u64(1).type(Array).u64(1).type(Array).u64(1);
       w.mark().type(U8).u64(0);
     }},
    {"AThousandNestedArrays", Code::Unsupported,
     [](GgufWriter &w) {
       oneValue(w).array("k", Array, 1);
       for (int i = 0; i < 3; ++i)
         w.type(Array).u64(1);
       w.mark();
       for (int i = 0; i < 1000; ++i)
         w.type(Array).u64(1);
     }},
    {"UnknownTypeInsideANestedArray", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).array("k", Array, 2).type(U8).u64(0).mark().u32(13).u64(0); }},
    {"NestedArrayBeyondTheEnd", Code::Truncated,
     [](GgufWriter &w) { oneValue(w).array("k", Array, 1).type(U32).u64(2).mark().zeros(7); }},
};

void alignment(GgufWriter &w, uint32_t value) {
  oneValue(w).key("general.alignment", U32).mark().u32(value);
}

const Broken kAlignment[] = {
    {"AlignmentZero", Code::Corrupt, [](GgufWriter &w) { alignment(w, 0); }},
    {"AlignmentFour", Code::Corrupt, [](GgufWriter &w) { alignment(w, 4); }},
    {"AlignmentOfNoPowerOfTwo", Code::Corrupt, [](GgufWriter &w) { alignment(w, 48); }},
    {"AlignmentBeyondTheLimit", Code::Corrupt, [](GgufWriter &w) { alignment(w, 1u << 25); }},
    {"LargestAlignment", Code::Corrupt, [](GgufWriter &w) { alignment(w, 0xffffffff); }},
    {"AlignmentOfAnotherWidth", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).key("general.alignment", U64).mark().u64(32); }},
    {"AlignmentAsAString", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).key("general.alignment", String).mark().string("32"); }},
    {"AlignmentAsAnArray", Code::Corrupt,
     [](GgufWriter &w) { oneValue(w).array("general.alignment", U32, 1).mark().u32(32); }},
};

const Broken kTensors[] = {
    {"EmptyTensorName", Code::Corrupt,
     [](GgufWriter &w) { oneTensor(w).mark().tensor("", {1}, TensorType::F32, 0).zeros(64); }},
    {"TensorNameLongerThanTheLimit", Code::Corrupt,
     [](GgufWriter &w) {
       oneTensor(w).mark().tensor(std::string(256, 't'), {1}, TensorType::F32, 0).zeros(64);
     }},
    {"TensorNameBeyondTheEnd", Code::Truncated,
     [](GgufWriter &w) { oneTensor(w).u64(200).mark().zeros(40); }},
    {"TensorNameWithAnEscape", Code::Corrupt,
     [](GgufWriter &w) { oneTensor(w).u64(4).mark().raw("\x1b[2J").u32(0).zeros(64); }},
    {"FiveDims", Code::Unsupported,
     [](GgufWriter &w) { oneTensor(w).string("t").mark().u32(5).zeros(64); }},
    {"HugeRank", Code::Unsupported,
     [](GgufWriter &w) { oneTensor(w).string("t").mark().u32(0xffffffff).zeros(64); }},
    {"DimsCutOff", Code::Truncated,
     [](GgufWriter &w) { oneTensor(w).string("tt").u32(4).u64(1).mark().u32(1); }},
    {"ADimOfZero", Code::Corrupt,
     [](GgufWriter &w) {
       oneTensor(w).string("t").u32(2).u64(1).mark().u64(0).u32(0).u64(0).zeros(64);
     }},
    {"TypeCutOff", Code::Truncated,
     [](GgufWriter &w) { oneTensor(w).tensorHead("longer", {1}).mark().u8(0); }},
    {"UnknownTensorType", Code::Unsupported,
     [](GgufWriter &w) { oneTensor(w).tensorHead("t", {1}).mark().u32(43).u64(0).zeros(64); }},
    {"DroppedTensorType", Code::Unsupported,
     [](GgufWriter &w) { oneTensor(w).tensorHead("t", {32}).mark().u32(4).u64(0).zeros(64); }},
    {"OffsetCutOff", Code::Truncated,
     [](GgufWriter &w) { oneTensor(w).tensorHead("longer", {1}).u32(0).mark().u32(0); }},
    {"RowOfNoWholeBlocks", Code::Corrupt,
     [](GgufWriter &w) {
       oneTensor(w).string("t").u32(2).mark().u64(48).u64(2).u32(3).u64(0).zeros(256);
     }},
    {"KQuantRowOfNoWholeBlocks", Code::Corrupt,
     [](GgufWriter &w) {
       oneTensor(w).string("t").u32(1).mark().u64(576).u32(12).u64(0).zeros(999);
     }},
    {"DimsWhoseProductOverflows", Code::Corrupt,
     [](GgufWriter &w) {
       oneTensor(w).string("t").u32(4).mark();
       for (int d = 0; d < 4; ++d)
         w.u64(uint64_t{1} << 16);
       w.u32(24).u64(0).zeros(64);
     }},
    {"DimsWhoseProductWrapsToSmall", Code::Corrupt,
     [](GgufWriter &w) {
       oneTensor(w).string("t").u32(3).mark().u64(4).u64((uint64_t{1} << 62) + 1).u64(1);
       w.u32(0).u64(0).zeros(64);
     }},
    {"BytesThatOverflow", Code::Corrupt,
     [](GgufWriter &w) {
       oneTensor(w).string("t").u32(1).mark().u64(uint64_t{1} << 62).u32(28).u64(0).zeros(64);
     }},
    {"RepeatedTensorName", Code::Corrupt,
     [](GgufWriter &w) {
       w.header(3, 0).tensor("a", {1}, TensorType::F32, 0).tensor("b", {1}, TensorType::F32, 32);
       w.u64(1).mark().raw("a").u32(1).u64(1).u32(0).u64(64).pad().zeros(96);
     }},
};

void lastOffset(GgufWriter &w, std::string_view name, std::initializer_list<uint64_t> dims,
                TensorType type, uint64_t offset) {
  w.tensorHead(name, dims).u32(static_cast<uint32_t>(type)).mark().u64(offset);
}

const Broken kPlacement[] = {
    {"OffsetOffTheAlignment", Code::Corrupt,
     [](GgufWriter &w) { lastOffset(oneTensor(w), "t", {1}, TensorType::F32, 8), w.zeros(256); }},
    {"OffsetOffAWiderAlignment", Code::Corrupt,
     [](GgufWriter &w) {
       w.header(1, 1).value("general.alignment", U32, uint32_t{128});
       lastOffset(w, "t", {1}, TensorType::F32, 64);
       w.zeros(512);
     }},
    {"TensorOneByteBeyondTheEnd", Code::Truncated,
     [](GgufWriter &w) {
       lastOffset(oneTensor(w), "t", {8}, TensorType::F32, 0);
       w.pad().zeros(31);
     }},
    {"NoDataAtAll", Code::Truncated,
     [](GgufWriter &w) { lastOffset(oneTensor(w), "t", {8}, TensorType::F32, 0); }},
    {"OffsetBeyondTheEnd", Code::Truncated,
     [](GgufWriter &w) {
       lastOffset(oneTensor(w), "t", {8}, TensorType::F32, uint64_t{1} << 40);
       w.pad().zeros(64);
     }},
    {"OffsetThatOverflows", Code::Corrupt,
     [](GgufWriter &w) {
       lastOffset(oneTensor(w), "t", {8}, TensorType::F32, kHuge - 31);
       w.pad().zeros(64);
     }},
    {"EndThatOverflows", Code::Corrupt,
     [](GgufWriter &w) {
       lastOffset(oneTensor(w), "t", {uint64_t{1} << 62}, TensorType::I16, uint64_t{1} << 63);
       w.pad().zeros(64);
     }},
    {"HugeTensor", Code::Truncated,
     [](GgufWriter &w) {
       lastOffset(oneTensor(w), "t", {uint64_t{1} << 60}, TensorType::I8, 0);
       w.pad().zeros(64);
     }},
    {"TwoTensorsAtOnePlace", Code::Corrupt,
     [](GgufWriter &w) {
       w.header(2, 0).tensor("a", {8}, TensorType::F32, 0);
       lastOffset(w, "b", {8}, TensorType::F32, 0);
       w.pad().zeros(64);
     }},
    {"TensorsThatOverlapByOneByte", Code::Corrupt,
     [](GgufWriter &w) {
       w.header(2, 0).tensor("a", {33}, TensorType::I8, 0);
       lastOffset(w, "b", {8}, TensorType::F32, 32);
       w.pad().zeros(128);
     }},
    {"TensorsThatOverlapOutOfOrder", Code::Corrupt,
     [](GgufWriter &w) {
       w.header(3, 0);
       lastOffset(w, "late", {8}, TensorType::F32, 64);
       w.tensor("far", {8}, TensorType::F32, 96).tensor("early", {24}, TensorType::F32, 0);
       w.pad().zeros(192);
     }},
};

std::vector<Broken> allBroken() {
  std::vector<Broken> all;
  auto add = [&](std::span<const Broken> part) { all.insert(all.end(), part.begin(), part.end()); };
  add(kHeader);
  add(kMetadata);
  add(kAlignment);
  add(kTensors);
  add(kPlacement);
  return all;
}

class GgufHostile : public ::testing::TestWithParam<Broken> {};

TEST_P(GgufHostile, IsRefusedWithItsCodeAndByte) {
  GgufWriter writer;
  GetParam().build(writer);
  auto file = GgufFile::parse(writer.bytes());
  ASSERT_FALSE(file.has_value());
  EXPECT_STREQ(codeName(file.error().code), codeName(GetParam().code)) << file.error().toString();
  EXPECT_EQ(file.error().byteOffset, writer.marked()) << file.error().toString();
}

TEST_P(GgufHostile, MessageIsPrintableAndShort) {
  GgufWriter writer;
  GetParam().build(writer);
  auto file = GgufFile::parse(writer.bytes());
  ASSERT_FALSE(file.has_value());
  const std::string &message = file.error().message;
  EXPECT_FALSE(message.empty());
  EXPECT_LT(message.size(), 400u);
  EXPECT_TRUE(std::ranges::all_of(message, [](char c) { return c >= 0x20 && c < 0x7f; }));
}

INSTANTIATE_TEST_SUITE_P(Files, GgufHostile, ::testing::ValuesIn(allBroken()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(GgufHostileWhole, EveryPrefixOfAGoodFileIsRefusedAsTruncated) {
  GgufWriter writer;
  writer.header(2, 2).text("k", "value").array("a", Array, 1).type(String).u64(1).string("x");
  writer.tensor("t", {32, 2}, TensorType::Q8_0, 0).tensor("u", {3}, TensorType::F32, 96);
  writer.pad().zeros(96 + 12);
  ASSERT_TRUE(GgufFile::parse(writer.bytes()).has_value());
  for (size_t length = 0; length < writer.size(); ++length) {
    // A buffer of its own, so that the sanitizer sees one byte too many.
    std::vector<uint8_t> prefix(writer.bytes().begin(), writer.bytes().begin() + length);
    auto file = GgufFile::parse(prefix);
    ASSERT_FALSE(file.has_value()) << length;
    ASSERT_EQ(file.error().code, Code::Truncated) << length << ' ' << file.error().toString();
  }
}

TEST(GgufHostileWhole, EveryByteFlippedInAGoodFileGivesAnErrorOrAConsistentFile) {
  GgufWriter writer;
  writer.header(1, 2).text("k", "value").array("a", Array, 1).type(Bool).u64(1).u8(1);
  writer.tensor("t", {32, 2}, TensorType::Q8_0, 0).pad().zeros(96);
  ASSERT_TRUE(GgufFile::parse(writer.bytes()).has_value());
  for (size_t at = 0; at < writer.size(); ++at)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = writer.bytes();
      bytes[at] ^= flip;
      EXPECT_EQ(inconsistencyOf(bytes), "") << at;
    }
}

TEST(GgufHostileWhole, EveryFileOfTheFuzzersCorpusGivesAnErrorOrAConsistentFile) {
  const std::filesystem::path folder = SINTER_TEST_DIR "/fuzz/corpus/gguf";
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    std::vector<char> raw((std::istreambuf_iterator<char>(stream)), {});
    std::vector<uint8_t> bytes(raw.begin(), raw.end());
    EXPECT_EQ(inconsistencyOf(bytes), "") << entry.path();
    ++files;
  }
  EXPECT_GE(files, 20u);
}

TEST(GgufHostileWhole, TheTableHoldsAtLeastSixtyKinds) {
  EXPECT_GE(allBroken().size(), 60u);
}

} // namespace
} // namespace sinter
