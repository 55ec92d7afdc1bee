// Token ids against llama.cpp's and the tokenizers library's, for the strings that
// tests/data/tokenizer/make_goldens.py and make_small_goldens.py make.
#include "llm/token_test_data.h"
#include "llm/tokenizer/detokenizer.h"
#include "llm/tokenizer/tokenizer_file.h"
#include "llm/tokenizer/unicode.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>

namespace sinter {
namespace {

struct Golden {
  std::string text;
  bool parseSpecial;
  std::vector<TokenId> ids;
};

std::string unescaped(std::string_view escaped) {
  std::string text;
  for (size_t i = 0; i < escaped.size(); ++i) {
    uint8_t byte = static_cast<uint8_t>(escaped[i]);
    if (byte == '%') {
      std::from_chars(escaped.data() + i + 1, escaped.data() + i + 3, byte, 16);
      i += 2;
    }
    text += static_cast<char>(byte);
  }
  return text;
}

// "ID" or "ID*COUNT".
std::pair<TokenId, size_t> readRun(const std::string &word) {
  std::pair<TokenId, size_t> run{-1, 1};
  const char *end = word.data() + word.size();
  const char *star = std::from_chars(word.data(), end, run.first).ptr;
  if (star != end)
    std::from_chars(star + 1, end, run.second);
  return run;
}

std::vector<Golden> readGoldens(const std::string &path) {
  std::istringstream file(readTestFile(path));
  std::vector<Golden> goldens;
  for (std::string line; std::getline(file, line);) {
    size_t end = std::min(line.find(' ', 2), line.size());
    Golden golden{unescaped(std::string_view(line).substr(2, end - 2)), line[0] == 's', {}};
    std::istringstream ids(line.substr(end));
    for (std::string word; ids >> word;) {
      auto [id, count] = readRun(word);
      golden.ids.insert(golden.ids.end(), count, id);
    }
    goldens.push_back(std::move(golden));
  }
  return goldens;
}

const std::vector<Golden> &goldens() {
  static const std::vector<Golden> read = readGoldens("tokenizer/smollm2.goldens");
  return read;
}

TEST(TokenizerGoldens, HoldManyStringsOfBothKinds) {
  auto parsed = std::ranges::count_if(goldens(), &Golden::parseSpecial);
  EXPECT_GE(goldens().size(), 5000u);
  EXPECT_GT(parsed, 100);
}

TEST(TokenizerGoldens, EveryStringGetsThePeersTokens) {
  size_t wrong = 0;
  for (const Golden &golden : goldens()) {
    auto ids = idsOf(smolLm2Tokenizer(), golden.text, {false, golden.parseSpecial});
    if (ids != golden.ids && ++wrong <= 5)
      EXPECT_EQ(ids, golden.ids) << golden.text;
  }
  EXPECT_EQ(wrong, 0u) << "of " << goldens().size();
}

TEST(TokenizerGoldens, StringsThatTheVocabularyCoversComeBackFromTheirTokens) {
  size_t covered = 0;
  for (const Golden &golden : goldens()) {
    auto encoding = smolLm2Tokenizer().encode(golden.text, {false, golden.parseSpecial});
    ASSERT_TRUE(encoding.has_value());
    if (encoding->droppedBytes || encoding->replacedBytes)
      continue;
    ++covered;
    EXPECT_EQ(detokenize(smolLm2Tokenizer(), encoding->ids, true), golden.text);
  }
  EXPECT_GT(covered, 4500u);
}

TEST(TokenizerGoldens, AStreamOfAnyTokensIsValidUtf8AtEveryStep) {
  Detokenizer stream(smolLm2Tokenizer(), true);
  for (const Golden &golden : goldens())
    for (TokenId id : golden.ids) {
      std::string text = stream.push(id).value();
      ASSERT_EQ(validUtf8Prefix(text), text.size()) << golden.text;
    }
}

// Small tokenizers of each kind, in a folder with their goldens.
class SmallGoldens : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    const std::string name = std::string("tokenizer/small/") + GetParam();
    const std::string stem = name.substr(0, name.rfind('.'));
    auto made = openTokenizer(SINTER_TEST_DIR "/data/" + name);
    ASSERT_TRUE(made.has_value()) << made.error().toString();
    tokenizer_.emplace(std::move(*made));
    goldens_ = readGoldens(stem + ".goldens");
    ASSERT_GT(goldens_.size(), 60u);
  }

  std::optional<Tokenizer> tokenizer_;
  std::vector<Golden> goldens_;
};

TEST_P(SmallGoldens, EveryStringGetsTheOthersTokens) {
  for (const Golden &golden : goldens_)
    EXPECT_EQ(idsOf(*tokenizer_, golden.text, {false, true}), golden.ids) << golden.text;
}

TEST_P(SmallGoldens, AStreamOfThemIsValidUtf8AtEveryStep) {
  Detokenizer stream(*tokenizer_, true);
  for (const Golden &golden : goldens_)
    for (const TokenId id : golden.ids) {
      const std::string text = stream.push(id).value();
      ASSERT_EQ(validUtf8Prefix(text), text.size()) << golden.text;
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SmallGoldens,
                         testing::Values("behaviors.json", "bert.json", "clip.json", "gemma.json",
                                         "llama2.json", "llama3.json", "unigram.json", "words.json",
                                         "spm.gguf", "ugm.gguf"),
                         [](const auto &info) {
                           return std::string(info.param, std::strcspn(info.param, "."));
                         });

// What loses nothing on its way to tokens comes back from them.
TEST(TokenizerGoldens, StringsComeBackFromKindsThatKeepThem) {
  for (const char *name : {"llama2.json", "llama3.json", "spm.gguf"}) {
    const std::string path = std::string("tokenizer/small/") + name;
    const auto tokenizer = openTokenizer(SINTER_TEST_DIR "/data/" + path);
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().toString();
    for (const Golden &golden : readGoldens(path.substr(0, path.rfind('.')) + ".goldens"))
      if (golden.text.find('<') == std::string::npos && golden.text.find("!!") == std::string::npos)
        EXPECT_EQ(detokenize(*tokenizer, golden.ids, true), golden.text) << name;
  }
}

} // namespace
} // namespace sinter
