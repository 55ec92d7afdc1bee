// Models in several files.
#include "format/gguf_writer.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sinter {
namespace {

using ::testing::HasSubstr;

class GgufParts : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "sinter-parts-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (int part = 0; part < 3; ++part)
      write(part, bytesOf(part));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(int part, int count = 3) const {
    return folder_ + "/tiny-0000" + std::to_string(part + 1) + "-of-0000" + std::to_string(count) +
           ".gguf";
  }
  // A part with one tensor of eight floats, each `part`.
  static std::vector<uint8_t> bytesOf(int part, const std::string &tensor = "",
                                      const std::string &architecture = "", int number = -1,
                                      int count = 3, int tensors = 3) {
    const bool named = part == 0 || !architecture.empty();
    GgufWriter w;
    w.header(1, named ? 4 : 3);
    if (named)
      w.text("general.architecture", architecture.empty() ? "llama" : architecture);
    w.value("split.no", GgufType::U16, static_cast<uint16_t>(number < 0 ? part : number));
    w.value("split.count", GgufType::U16, static_cast<uint16_t>(count));
    w.value("split.tensors.count", GgufType::I32, int32_t(tensors));
    w.string(tensor.empty() ? "t" + std::to_string(part) : tensor).u32(1).u64(8);
    w.u32(static_cast<uint32_t>(TensorType::F32)).u64(0).pad();
    for (int i = 0; i < 8; ++i)
      w.put(static_cast<float>(part));
    return w.bytes();
  }
  void write(int part, std::span<const uint8_t> bytes) const {
    std::ofstream(path(part), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::string error(int part = 0) const {
    const auto file = GgufFile::openModel(path(part));
    return file ? "none" : file.error().message;
  }

  std::string folder_;
};

TEST_F(GgufParts, AreOneModel) {
  auto opened = GgufFile::openModel(path(0));
  ASSERT_TRUE(opened) << opened.error().toString();
  GgufFile file = std::move(*opened);
  EXPECT_TRUE(file.checkWhole());
  EXPECT_EQ(file.tensors().size(), 3u);
  for (int part = 0; part < 3; ++part) {
    const GgufTensor *tensor = file.findTensor("t" + std::to_string(part));
    ASSERT_NE(tensor, nullptr);
    float value;
    std::memcpy(&value, tensor->bytes.data(), sizeof value);
    EXPECT_EQ(value, static_cast<float>(part));
  }
  EXPECT_EQ(file.totalBytes(), 3 * bytesOf(1).size() + bytesOf(0).size() - bytesOf(1).size());
  EXPECT_EQ(file.paths().size(), 3u);
  EXPECT_TRUE(file.stillIntact());
  ASSERT_EQ(::truncate(path(2).c_str(), 100), 0);
  EXPECT_FALSE(file.stillIntact());
}

TEST_F(GgufParts, TheDigestIsOfAllParts) {
  const Sha256Digest first = *GgufFile::openModel(path(0))->digest();
  write(2, bytesOf(2, "u2"));
  EXPECT_NE(first, *GgufFile::openModel(path(0))->digest());
}

TEST_F(GgufParts, AnotherThanTheFirstSaysWhichToGive) {
  EXPECT_THAT(error(1), HasSubstr("is part 2 of 3 of a model, expected the first part: give '" +
                                  path(0) + "'"));
}

TEST_F(GgufParts, AFirstPartOfAnotherNameSaysWhatNameIsExpected) {
  std::filesystem::rename(path(0), folder_ + "/renamed.gguf");
  const auto file = GgufFile::openModel(folder_ + "/renamed.gguf");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("expected a name that ends with "
                                              "'-00001-of-00003.gguf'"));
}

TEST_F(GgufParts, WhatDoesNotBelongTogetherIsRefused) {
  write(1, bytesOf(1, "t0"));
  EXPECT_THAT(error(), HasSubstr("tensor 't0' is in an earlier part of the model too"));
  write(1, bytesOf(1, "", "qwen2"));
  EXPECT_THAT(error(),
              HasSubstr("the part's architecture is 'qwen2', the first part's is 'llama'"));
  write(1, bytesOf(2));
  EXPECT_THAT(error(), HasSubstr("says that it is part 3 of 3, expected part 2 of 3"));
  write(1, bytesOf(1, "", "", 1, 4));
  EXPECT_THAT(error(), HasSubstr("says that it is part 2 of 4, expected part 2 of 3"));
  std::filesystem::remove(path(1));
  EXPECT_THAT(error(), HasSubstr("part 2 of 3 of the model is missing: '" + path(1) + "'"));
}

TEST_F(GgufParts, FewerTensorsThanTheFirstSaysAreRefused) {
  write(0, bytesOf(0, "", "", 0, 3, 4));
  EXPECT_THAT(error(), HasSubstr("have 3 tensors, expected 4 as the first says"));
}

TEST_F(GgufParts, NoPartsAreRefused) {
  write(0, bytesOf(0, "", "", 0, 0));
  EXPECT_THAT(error(), HasSubstr("'split.count' is 0, expected at least 1"));
}

TEST_F(GgufParts, ADamagedPartIsNamed) {
  write(2, std::vector<uint8_t>{'G', 'G', 'M', 'L'});
  EXPECT_THAT(error(), HasSubstr("'" + path(2) + "': file begins with 'GGML'"));
}

} // namespace
} // namespace sinter
