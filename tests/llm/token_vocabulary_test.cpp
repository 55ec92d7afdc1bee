// The tokenizer's metadata in GGUF files.
#include "format/known_names.h"
#include "llm/token_test_data.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::HasSubstr;

class GgufText {
public:
  GgufText &key(std::string_view name, uint32_t type) {
    ++keys_;
    text(name);
    return number<uint32_t>(type);
  }
  GgufText &text(std::string_view value) {
    number<uint64_t>(value.size());
    body_ += value;
    return *this;
  }
  template <typename T> GgufText &number(T value) {
    body_.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  GgufText &texts(std::string_view name, const std::vector<std::string_view> &values) {
    key(name, 9).number<uint32_t>(8).number<uint64_t>(values.size());
    for (std::string_view value : values)
      text(value);
    return *this;
  }
  Result<VocabularyData> read() {
    GgufText whole;
    whole.body_ = "GGUF";
    whole.number<uint32_t>(3).number<uint64_t>(0).number<uint64_t>(keys_);
    bytes_ = whole.body_ + body_;
    file_ = GgufFile::parse({reinterpret_cast<const uint8_t *>(bytes_.data()), bytes_.size()});
    return file_.and_then(vocabularyFromGguf);
  }

private:
  std::string body_, bytes_;
  uint64_t keys_ = 0;
  Result<GgufFile> file_ = fail(Code::NotFound, "not read");
};

GgufText smallFile() {
  GgufText file;
  file.key("tokenizer.ggml.model", 8).text("gpt2");
  file.key("tokenizer.ggml.pre", 8).text("gpt-2");
  file.texts("tokenizer.ggml.tokens", {"a", "b", "ab"});
  file.texts("tokenizer.ggml.merges", {"a b"});
  return file;
}

TEST(VocabularyFromGguf, ReadsWhatTheFileSays) {
  GgufText file = smallFile();
  file.key("tokenizer.ggml.eos_token_id", 4).number<uint32_t>(2);
  file.key("tokenizer.ggml.add_bos_token", 7).number<uint8_t>(0);
  auto data = file.read();
  ASSERT_TRUE(data.has_value()) << data.error().toString();
  EXPECT_EQ(data->tokens.size(), 3u);
  EXPECT_EQ(data->merges.size(), 1u);
  EXPECT_EQ(data->eos, 2);
  EXPECT_EQ(data->bos, std::nullopt);
  EXPECT_EQ(data->addBos, false);
}

TEST(VocabularyFromGguf, ReadsEndsAndSuppressedTokens) {
  GgufText file = smallFile();
  file.key("tokenizer.ggml.eom_token_id", 4).number<uint32_t>(1);
  file.key("tokenizer.ggml.fim_sep_token_id", 4).number<uint32_t>(2);
  file.key("tokenizer.ggml.suppress_tokens", 9).number<uint32_t>(5).number<uint64_t>(2);
  file.number<int32_t>(2).number<int32_t>(0);
  auto data = file.read();
  ASSERT_TRUE(data.has_value()) << data.error().toString();
  EXPECT_EQ(data->eom, 1);
  EXPECT_EQ(data->fimSeparator, 2);
  EXPECT_EQ(data->fimPad, std::nullopt);
  EXPECT_EQ(data->suppressed, (std::vector<int64_t>{2, 0}));
}

// A value of a type that no key has is refused by whoever reads the key.
TEST(VocabularyFromGguf, NoKeyThatChangesResultsIsLeftOut) {
  for (const KnownName &row : fileKeys()) {
    if (row.effect == NameEffect::Harmless || !row.pattern.starts_with("tokenizer."))
      continue;
    GgufText file;
    file.key(row.pattern, 12).number(0.5);
    for (const char *key : {"tokenizer.ggml.model", "tokenizer.ggml.pre"})
      if (key != row.pattern)
        file.key(key, 8).text("gpt2");
    for (const char *key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"})
      if (key != row.pattern)
        file.texts(key, {});
    auto data = file.read();
    ASSERT_FALSE(data.has_value()) << row.pattern;
    EXPECT_THAT(data.error().message, HasSubstr(std::string(row.pattern)));
  }
}

TEST(VocabularyFromGguf, SmolLm2HasItsPublishedCounts) {
  EXPECT_EQ(smolLm2().tokens.size(), 49152u);
  EXPECT_EQ(smolLm2().merges.size(), 48900u);
  EXPECT_EQ(smolLm2().pre, "smollm");
}

TEST(VocabularyFromGguf, AnotherModelOfTokenizerIsUnsupportedAndNamed) {
  GgufText file;
  file.key("tokenizer.ggml.model", 8).text("klingon");
  file.texts("tokenizer.ggml.tokens", {"a", "b"});
  auto made = file.read().and_then(Tokenizer::create);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::Unsupported);
  EXPECT_THAT(made.error().message, HasSubstr("'klingon'"));
}

TEST(VocabularyFromGguf, AFileWithoutAPreTokenizerIsSplitByDefaultRulesWithAWarning) {
  GgufText file;
  file.key("tokenizer.ggml.model", 8).text("gpt2");
  file.texts("tokenizer.ggml.tokens", {"a", "b", "ab"});
  file.texts("tokenizer.ggml.merges", {"a b"});
  auto made = file.read().and_then(Tokenizer::create);
  ASSERT_TRUE(made.has_value()) << made.error().toString();
  EXPECT_THAT(made->warnings(), testing::ElementsAre(HasSubstr("tokenizer.ggml.pre")));
}

TEST(VocabularyFromGguf, AFileWithoutTokensOrMergesIsAnError) {
  GgufText file;
  file.key("tokenizer.ggml.model", 8).text("gpt2");
  file.key("tokenizer.ggml.pre", 8).text("gpt-2");
  auto data = file.read();
  ASSERT_FALSE(data.has_value());
  EXPECT_EQ(data.error().code, Code::NotFound);
}

TEST(VocabularyFromGguf, KeysOfAnotherTypeAreCorrupt) {
  GgufText wrongId = smallFile();
  wrongId.key("tokenizer.ggml.eos_token_id", 8).text("two");
  EXPECT_EQ(wrongId.read().error().code, Code::Corrupt);
  GgufText wrongTypes = smallFile();
  wrongTypes.texts("tokenizer.ggml.token_type", {"1", "1", "1"});
  EXPECT_EQ(wrongTypes.read().error().code, Code::Corrupt);
}

} // namespace
} // namespace sinter
