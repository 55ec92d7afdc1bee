// The tables of known names: each row is reachable, values are compared as they read, and what
// nobody knows is named.
#include "format/known_names.h"

#include "format/gguf_writer.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

namespace sinter {
namespace {

using enum GgufType;
using testing::ElementsAre;
using testing::IsEmpty;

// A name that the row matches.
std::string nameOf(const KnownName &row) {
  std::string name(row.pattern);
  for (size_t star; (star = name.find('*')) != std::string::npos;)
    name.replace(star, 1, "7");
  return name;
}

TEST(KnownNames, NoRowHidesALaterOne) {
  for (const KnownName &row : architectureKeys())
    EXPECT_EQ(findKnownKey("llama." + nameOf(row), "llama"), &row) << row.pattern;
  for (const KnownName &row : fileKeys())
    EXPECT_EQ(findKnownKey(nameOf(row), "llama"), &row) << row.pattern;
  for (const KnownName &row : tensorNames())
    EXPECT_EQ(findKnownTensor(nameOf(row)), &row) << row.pattern;
}

TEST(KnownNames, OtherNamesHaveNoRow) {
  EXPECT_EQ(findKnownKey("llama.rope.freq_bas", "llama"), nullptr);
  EXPECT_EQ(findKnownKey("llama.rope.freq_base2", "llama"), nullptr);
  EXPECT_EQ(findKnownKey("qwen2.rope.freq_base", "llama"), nullptr);
  EXPECT_EQ(findKnownKey("rope.freq_base", "llama"), nullptr);
  EXPECT_EQ(findKnownKey("llama", "llama"), nullptr);
  EXPECT_EQ(findKnownTensor("blk"), nullptr);
}

TEST(KnownNames, EveryRowThatChangesResultsSaysWhatItAsksFor) {
  for (auto table : {architectureKeys(), fileKeys()})
    for (const KnownName &row : table)
      EXPECT_EQ(row.what.empty(), row.effect == NameEffect::Harmless) << row.pattern;
}

TEST(KnownNames, ValuesAreNeutralWhereEachElementIs) {
  const KnownName row = {"x", NameEffect::ChangesResults, "0|false|1.5"};
  const auto neutral = [&](std::vector<std::string> values) { return areNeutral(row, values); };
  EXPECT_TRUE(neutral({"0"}));
  EXPECT_TRUE(neutral({"false", "1.5", "0"}));
  EXPECT_FALSE(neutral({"0", "1"}));
  EXPECT_FALSE(neutral({""}));
  EXPECT_FALSE(neutral({"0|false"}));
  EXPECT_FALSE(neutral({}));
  EXPECT_FALSE(areNeutral({"x", NameEffect::ChangesResults}, std::vector<std::string>{""}));
}

TEST(KnownNames, ValuesReadAsTheyAreWritten) {
  GgufWriter w;
  w.header(0, 8).value("i8", I8, int8_t{-3}).value("u64", U64, UINT64_MAX);
  w.value("one", F32, 1.0f).value("part", F64, 0.1).value("flag", Bool, uint8_t{1});
  w.array("words", String, 2).string("a").string("");
  w.array("floats", F32, 2).put(0.25f).put(-1e20f);
  w.array("nested", Array, 1).type(Bool).u64(1).u8(1);
  const auto file = GgufFile::parse(w.bytes());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  const auto texts = [&](std::string_view key) { return valueTexts(*file->find(key)); };
  EXPECT_THAT(texts("i8"), ElementsAre("-3"));
  EXPECT_THAT(texts("u64"), ElementsAre("18446744073709551615"));
  EXPECT_THAT(texts("one"), ElementsAre("1"));
  EXPECT_THAT(texts("part"), ElementsAre("0.1"));
  EXPECT_THAT(texts("flag"), ElementsAre("true"));
  EXPECT_THAT(texts("words"), ElementsAre("a", ""));
  EXPECT_THAT(texts("floats"), ElementsAre("0.25", "-1e+20"));
  EXPECT_THAT(texts("nested"), IsEmpty());
}

TEST(KnownNames, WhatNobodyKnowsIsNamed) {
  GgufWriter w;
  w.header(2, 4).text("general.architecture", "llama").text("general.whatever", "x");
  w.value("llama.new_thing", U32, 7u).value("qwen2.block_count", U32, 7u);
  w.tensor("odd.weight", {8}, TensorType::F32, 0).tensor("blk.0.x", {8}, TensorType::F32, 32);
  w.pad().zeros(64);
  const auto file = GgufFile::parse(w.bytes());
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(findUnknownNames(*file).text(),
            "keys 'llama.new_thing', 'qwen2.block_count'; tensor 'odd.weight'");
}

TEST(KnownNames, OfManyUnknownNamesAFewAreNamedAndAllCounted) {
  UnknownNames unknown;
  unknown.keys.assign(1000, "k");
  EXPECT_EQ(unknown.text(), "keys 'k', 'k', 'k', 'k', 'k', 'k', 'k', 'k' and 992 more");
  EXPECT_EQ(UnknownNames().text(), "");
}

TEST(KnownNames, NothingInAPublishedFileIsUnknown) {
  std::ifstream stream(SINTER_TEST_DIR "/data/vocab/smollm2.gguf.vocab", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const auto file =
      GgufFile::parse({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_GT(file->values().size(), 20u);
  EXPECT_EQ(findUnknownNames(*file).text(), "");
}

} // namespace
} // namespace sinter
