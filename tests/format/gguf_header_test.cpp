// Writing GGUF: what was read comes back, with what was to be changed, and nothing impossible.
#include "format/gguf_header.h"

#include "format/gguf_check.h"
#include "format/gguf_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace sinter {
namespace {

GgufWriter sample(uint32_t version = 3, uint64_t alignment = 128) {
  GgufWriter w;
  w.header(2, 5, version);
  w.value("general.alignment", GgufType::U32, static_cast<uint32_t>(alignment));
  w.text("general.name", std::string_view("a\0b", 3)).value("general.file_type", GgufType::U32, 1u);
  w.array("words", GgufType::String, 2).string("one").string("");
  w.array("nested", GgufType::Array, 1).type(GgufType::I16).u64(1).put(int16_t{-7});
  w.tensor("matrix", {32, 3}, TensorType::F16, 0).tensor("vector", {5}, TensorType::F32, 256);
  w.pad(alignment);
  for (int i = 0; i < 276; ++i)
    w.u8(static_cast<uint8_t>(i));
  return w;
}

GgufContents contentsOf(const GgufFile &file) {
  GgufContents contents;
  contents.values = file.values();
  contents.alignment = file.alignment();
  for (const GgufTensor &tensor : file.tensors())
    contents.tensors.push_back({tensor.name, tensor.dims, tensor.rank, tensor.format});
  return contents;
}

// The file that begins with this header, all data zeros.
std::vector<uint8_t> fileOf(const GgufHeader &header) {
  std::vector<uint8_t> bytes = header.bytes;
  bytes.resize(header.fileBytes);
  return bytes;
}

TEST(GgufHeader, OfAFilesOwnContentsIsTheFile) {
  const GgufWriter w = sample();
  const GgufFile file = *GgufFile::parse(w.bytes());
  const GgufHeader header = *makeGgufHeader(contentsOf(file));
  ASSERT_LE(header.bytes.size(), w.size());
  EXPECT_TRUE(std::equal(header.bytes.begin(), header.bytes.end(), w.bytes().begin()));
  EXPECT_EQ(header.offsets,
            (std::vector{file.tensors()[0].byteOffset, file.tensors()[1].byteOffset}));
}

TEST(GgufHeader, OfVersion2IsVersion3) {
  const GgufWriter w = sample(2);
  const std::vector<uint8_t> bytes =
      fileOf(*makeGgufHeader(contentsOf(*GgufFile::parse(w.bytes()))));
  const auto file = GgufFile::parse(bytes);
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->values().size(), 5u);
}

TEST(GgufHeader, ReplacesAndAddsNumbers) {
  const GgufWriter w = sample();
  const GgufFile before = *GgufFile::parse(w.bytes());
  GgufContents contents = contentsOf(before);
  contents.numbers = {{"general.file_type", 15}, {"added", 7}};
  const std::vector<uint8_t> bytes = fileOf(*makeGgufHeader(contents));
  const GgufFile file = *GgufFile::parse(bytes);
  EXPECT_EQ(file.getU64("general.file_type"), 15u);
  EXPECT_EQ(file.getU64("added"), 7u);
  EXPECT_EQ(file.getString("general.name"), std::string_view("a\0b", 3));
  EXPECT_EQ(file.values().size(), 6u);
  EXPECT_EQ(inconsistencyOf(bytes), "");
}

TEST(GgufHeader, PlacesTensorsOfOtherTypesByTheAlignment) {
  const GgufWriter w = sample();
  const GgufFile before = *GgufFile::parse(w.bytes());
  GgufContents contents = contentsOf(before);
  contents.tensors[0].format = &blockFormat(TensorType::Q4_1);
  const std::vector<uint8_t> bytes = fileOf(*makeGgufHeader(contents));
  const GgufFile file = *GgufFile::parse(bytes);
  EXPECT_EQ(file.tensors()[0].bytes.size(), 60u);
  EXPECT_EQ(file.tensors()[1].byteOffset - file.tensors()[0].byteOffset, 128u);
  EXPECT_EQ(file.alignment(), 128u);
}

TEST(GgufHeader, OfNothingIsAFile) {
  const std::vector<uint8_t> bytes = fileOf(*makeGgufHeader({}));
  EXPECT_EQ(bytes.size(), 32u);
  EXPECT_TRUE(GgufFile::parse(bytes).has_value());
}

TEST(GgufHeader, RowsThatAreNoWholeBlocksAreRefused) {
  GgufContents contents;
  contents.tensors = {{"odd", {33, 1, 1, 1}, 1, &blockFormat(TensorType::Q8_0)}};
  const auto header = makeGgufHeader(contents);
  ASSERT_FALSE(header.has_value());
  EXPECT_EQ(header.error().code, Code::InvalidArgument);
  EXPECT_NE(header.error().message.find("'odd' has rows of 33, expected whole blocks of Q8_0"),
            std::string::npos);
}

TEST(GgufHeader, SizesThatOverflowAreRefused) {
  constexpr uint64_t kHuge = uint64_t{1} << 62;
  GgufContents contents;
  contents.tensors = {{"a", {kHuge, 4, 1, 1}, 2, &blockFormat(TensorType::F32)}};
  EXPECT_FALSE(makeGgufHeader(contents).has_value());
  contents.tensors = {{"a", {kHuge, 1, 1, 1}, 1, &blockFormat(TensorType::I8)},
                      {"b", {kHuge, 3, 1, 1}, 2, &blockFormat(TensorType::I8)}};
  EXPECT_FALSE(makeGgufHeader(contents).has_value());
}

} // namespace
} // namespace sinter
