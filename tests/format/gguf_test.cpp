// Well-formed GGUF files: what the reader shows of them, and how it refuses wrong questions.
#include "format/gguf.h"

#include "format/gguf_writer.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <unistd.h>

namespace sinter {
namespace {

using enum GgufType;

// One entry of every kind, two tensors out of order.
GgufWriter sample(uint32_t version = 3) {
  GgufWriter w;
  w.header(2, 13, version);
  w.text("general.architecture", "llama").value("u8", U8, uint8_t{200});
  w.value("i8", I8, int8_t{-3}).value("u32", U32, uint32_t{4000000000});
  w.value("i64", I64, int64_t{-5}).value("u64", U64, std::numeric_limits<uint64_t>::max());
  w.value("f32", F32, 1.5f).value("f64", F64, 0.1).value("flag", Bool, uint8_t{1});
  w.array("words", String, 3).string("a").string("").string(std::string_view("b\0\xff", 3));
  w.array("ints", I16, 3).put(int16_t{1}).put(int16_t{-2}).put(int16_t{3});
  w.array("floats", F32, 2).put(0.25f).put(-0.5f);
  w.array("nested", Array, 2).type(Bool).u64(1).u8(1).type(String).u64(1).string("deep");
  w.tensor("second", {32, 2}, TensorType::Q4_1, 32).tensor("first", {3, 1, 2}, TensorType::F32, 0);
  w.pad();
  for (uint8_t i = 0; i < 24; ++i)
    w.u8(i);
  return w.pad().zeros(40);
}

class GgufSample : public ::testing::Test {
protected:
  void SetUp() override {
    writer_ = sample();
    auto parsed = GgufFile::parse(writer_.bytes());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().toString();
    file_.emplace(std::move(*parsed));
  }
  template <typename T> Status errorOf(Result<T> result) {
    EXPECT_FALSE(result.has_value());
    return result ? Status{Code::Internal, "no error"} : result.error();
  }
  GgufWriter writer_;
  std::optional<GgufFile> file_;
};

TEST_F(GgufSample, IntegersOfEveryWidthReadAsSixtyFourBits) {
  EXPECT_EQ(file_->getU64("u8"), 200u);
  EXPECT_EQ(file_->getI64("i8"), -3);
  EXPECT_EQ(file_->getU64("u32"), 4000000000u);
  EXPECT_EQ(file_->getI64("i64"), -5);
  EXPECT_EQ(file_->getU64("u64"), std::numeric_limits<uint64_t>::max());
}

TEST_F(GgufSample, FloatsReadAsF32) {
  EXPECT_EQ(file_->getF32("f32"), 1.5f);
  EXPECT_EQ(file_->getF32("f64"), 0.1f);
}

TEST_F(GgufSample, BoolsAndStringsReadAsTheyAre) {
  EXPECT_EQ(file_->getBool("flag"), true);
  EXPECT_EQ(file_->getString("general.architecture"), "llama");
}

TEST_F(GgufSample, StringArraysAreViewsIntoTheFile) {
  auto words = file_->getStrings("words");
  ASSERT_TRUE(words.has_value());
  EXPECT_EQ(*words, (std::vector<std::string_view>{"a", "", std::string_view("b\0\xff", 3)}));
  const auto *at = reinterpret_cast<const uint8_t *>((*words)[0].data());
  EXPECT_GE(at, writer_.bytes().data());
  EXPECT_LT(at, writer_.bytes().data() + writer_.size());
}

TEST_F(GgufSample, NumberArraysConvertEachElement) {
  EXPECT_EQ(file_->getI64s("ints"), (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(file_->getF32s("floats"), (std::vector<float>{0.25f, -0.5f}));
}

TEST_F(GgufSample, NestedArraysAreKeptAsRawBytes) {
  const GgufValue *value = file_->find("nested");
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->elementType, Array);
  EXPECT_EQ(value->count, 2u);
  EXPECT_EQ(value->bytes.size(), 12u + 1 + 12 + 8 + 4);
}

TEST_F(GgufSample, EntriesKeepTheFilesOrder) {
  ASSERT_EQ(file_->values().size(), 13u);
  EXPECT_EQ(file_->values()[0].key, "general.architecture");
  EXPECT_EQ(file_->values()[12].key, "nested");
  ASSERT_EQ(file_->tensors().size(), 2u);
  EXPECT_EQ(file_->tensors()[0].name, "second");
}

TEST_F(GgufSample, ATensorHasItsShapeFormatAndBytes) {
  auto tensor = file_->tensor("first");
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ((*tensor)->dims, (std::array<uint64_t, 4>{3, 1, 2, 1}));
  EXPECT_EQ((*tensor)->rank, 3u);
  EXPECT_EQ((*tensor)->elements(), 6u);
  EXPECT_EQ((*tensor)->rowBytes(), 12u);
  EXPECT_EQ((*tensor)->format->name, "F32");
  ASSERT_EQ((*tensor)->bytes.size(), 24u);
  EXPECT_EQ((*tensor)->bytes[23], 23);
  EXPECT_EQ((*tensor)->bytes.data(), writer_.bytes().data() + (*tensor)->byteOffset);
}

TEST_F(GgufSample, AMissingKeyOrTensorIsNotFoundAndNamed) {
  Status key = errorOf(file_->getU64("absent"));
  EXPECT_EQ(key.code, Code::NotFound);
  EXPECT_NE(key.message.find("'absent'"), std::string::npos);
  EXPECT_EQ(errorOf(file_->tensor("absent")).code, Code::NotFound);
  EXPECT_EQ(file_->findTensor("absent"), nullptr);
}

TEST_F(GgufSample, AFallbackStandsForAnAbsentKeyOnly) {
  EXPECT_EQ(file_->getU64Or("absent", 7), 7u);
  EXPECT_EQ(file_->getU64Or("u8", 7), 200u);
  EXPECT_EQ(errorOf(file_->getU64Or("f32", 7)).code, Code::Corrupt);
  EXPECT_EQ(file_->getStringOr("absent", "x"), "x");
  EXPECT_EQ(file_->getBoolOr("absent", true), true);
  EXPECT_EQ(file_->getF32Or("absent", 2.0f), 2.0f);
  EXPECT_EQ(file_->getI64Or("absent", -1), -1);
}

TEST_F(GgufSample, AWrongTypeNamesFoundAndExpectedAtTheValuesByte) {
  Status status = errorOf(file_->getU64("words"));
  EXPECT_EQ(status.code, Code::Corrupt);
  EXPECT_EQ(status.message,
            "metadata key 'words' is an array of string, expected an unsigned integer");
  EXPECT_EQ(status.byteOffset, file_->find("words")->byteOffset);
}

TEST_F(GgufSample, EveryGetterRefusesEveryOtherKind) {
  EXPECT_EQ(errorOf(file_->getU64("general.architecture")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getI64("flag")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getF32("u8")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getBool("u8")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getString("words")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getStrings("general.architecture")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getStrings("ints")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getI64s("nested")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getI64s("words")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getF32s("f32")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getBools("ints")).code, Code::Corrupt);
}

TEST_F(GgufSample, IntegersThatDoNotFitAreRefused) {
  EXPECT_EQ(errorOf(file_->getU64("i8")).code, Code::Corrupt);
  EXPECT_EQ(errorOf(file_->getI64("u64")).code, Code::Corrupt);
  Status status = errorOf(file_->getU64s("ints"));
  EXPECT_EQ(status.byteOffset, file_->find("ints")->byteOffset + 2);
}

TEST_F(GgufSample, ViewsSurviveAMove) {
  std::string_view before = *file_->getString("general.architecture");
  GgufFile moved = std::move(*file_);
  EXPECT_EQ(moved.getString("general.architecture")->data(), before.data());
  EXPECT_NE(moved.findTensor("second"), nullptr);
}

TEST(Gguf, BoolArraysAndUnsignedArraysReadAsTheirElements) {
  GgufWriter writer;
  writer.header(0, 2).array("b", Bool, 3).u8(1).u8(0).u8(1);
  writer.array("u", U64, 1).u64(std::numeric_limits<uint64_t>::max());
  auto file = GgufFile::parse(writer.bytes());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(file->getBools("b"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(file->getU64s("u"), (std::vector<uint64_t>{std::numeric_limits<uint64_t>::max()}));
}

TEST(Gguf, VersionTwoReadsAsVersionThree) {
  GgufWriter writer = sample(2);
  auto file = GgufFile::parse(writer.bytes());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(file->version(), 2u);
  EXPECT_EQ(file->tensors().size(), 2u);
}

TEST(Gguf, AFileOfMetadataAloneNeedsNoPadding) {
  GgufWriter writer;
  writer.header(0, 1).text("k", "v");
  auto file = GgufFile::parse(writer.bytes());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_TRUE(file->tensors().empty());
}

TEST(Gguf, AnAlignmentOfItsOwnMovesTheData) {
  GgufWriter writer;
  writer.header(1, 1).value("general.alignment", U32, uint32_t{256});
  writer.tensor("t", {1}, TensorType::F32, 0).pad(256).u32(0x11223344);
  auto file = GgufFile::parse(writer.bytes());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(file->tensors()[0].byteOffset, 256u);
  EXPECT_EQ(file->tensors()[0].bytes[0], 0x44);
}

TEST(Gguf, AScalarTensorHasOneElement) {
  GgufWriter writer;
  writer.header(1, 0).tensor("t", {}, TensorType::F32, 0).pad().u32(0);
  auto file = GgufFile::parse(writer.bytes());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(file->tensors()[0].elements(), 1u);
}

TEST(Gguf, ArraysMayNestAsDeepAsTheLimit) {
  GgufWriter writer;
  writer.header(0, 1).array("k", Array, 1).type(Array).u64(1).type(Array).u64(1);
  writer.type(U8).u64(1).u8(9);
  EXPECT_TRUE(GgufFile::parse(writer.bytes()).has_value());
}

TEST(GgufDigest, ChangesWithMetadataTableAndSizeButNotWithWeights) {
  auto digestOf = [](const std::vector<uint8_t> &bytes) {
    auto file = GgufFile::parse(bytes);
    return file ? file->digest()->hex() : file.error().toString();
  };
  std::vector<uint8_t> bytes = sample().bytes();
  std::string original = digestOf(bytes);
  ASSERT_EQ(original.size(), 64u);
  auto changed = [&](size_t at) {
    auto copy = bytes;
    copy[at] ^= 1;
    return digestOf(copy);
  };
  EXPECT_EQ(changed(bytes.size() - 1), original);
  EXPECT_NE(changed(24 + 8), original); // the first key
  bytes.push_back(0);
  EXPECT_NE(digestOf(bytes), original);
}

// Plans name models by this value: python3 -c "hashlib.sha256(bytes + struct.pack('<Q', size))".
TEST(GgufDigest, OfTheRealVocabularyNeverChanges) {
  auto file = GgufFile::open(std::string(SINTER_TEST_DIR) + "/data/vocab/smollm2.gguf.vocab");
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(file->digest()->hex(),
            "818c35a2e4f47ec6070589ed2b0dfa4cdd4ba0e83df87391d61c85ac8f77b80d");
}

class GgufOnDisk : public ::testing::Test {
protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "sinter-gguf-XXXXXX";
    int fd = ::mkstemp(path_.data());
    ASSERT_GE(fd, 0);
    ::close(fd);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void write(std::span<const uint8_t> bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::string path_;
};

TEST_F(GgufOnDisk, OpensAndStaysReadableThroughAMove) {
  write(sample().bytes());
  auto file = GgufFile::open(path_);
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  GgufFile moved = std::move(*file);
  EXPECT_EQ(moved.getU64("u8"), 200u);
  EXPECT_TRUE(moved.stillIntact());
}

TEST_F(GgufOnDisk, ATruncatedFileIsNoticedAfterOpening) {
  write(sample().bytes());
  auto file = GgufFile::open(path_);
  ASSERT_TRUE(file.has_value());
  ASSERT_EQ(::truncate(path_.c_str(), 100), 0);
  EXPECT_FALSE(file->stillIntact());
}

TEST_F(GgufOnDisk, AnErrorNamesTheFile) {
  write(std::vector<uint8_t>{'G', 'G', 'M', 'L'});
  auto file = GgufFile::open(path_);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().message, "'" + path_ + "': file begins with 'GGML', expected 'GGUF'");
}

TEST(GgufRealVocabulary, OfSmolLM2HasItsHyperparametersAndTokens) {
  auto file = GgufFile::open(std::string(SINTER_TEST_DIR) + "/data/vocab/smollm2.gguf.vocab");
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(file->getString("general.architecture"), "llama");
  EXPECT_EQ(file->getU64("llama.block_count"), 30u);
  EXPECT_EQ(file->getF32("llama.rope.freq_base"), 100000.0f);
  auto tokens = file->getStrings("tokenizer.ggml.tokens");
  ASSERT_TRUE(tokens.has_value());
  ASSERT_EQ(tokens->size(), 49152u);
  EXPECT_EQ((*tokens)[1], "<|im_start|>");
  EXPECT_EQ(file->getI64s("tokenizer.ggml.token_type")->size(), 49152u);
}

} // namespace
} // namespace sinter
