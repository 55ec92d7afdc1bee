// Token ids against llama.cpp's, for the strings that tests/data/tokenizer/make_goldens.py makes.
#include "llm/token_test_data.h"
#include "llm/tokenizer/detokenizer.h"
#include "llm/tokenizer/unicode.h"

#include <algorithm>
#include <charconv>
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

} // namespace
} // namespace sinter
