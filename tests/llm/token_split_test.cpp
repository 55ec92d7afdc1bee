// Pre-tokenizers and the search for special tokens.
#include "llm/tokenizer/pretokenizer.h"
#include "llm/tokenizer/pretokenizer_table.h"
#include "llm/tokenizer/special.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

Texts wordsOf(std::string_view name, std::string_view text) {
  auto made = Pretokenizer::create(name);
  EXPECT_TRUE(made.has_value()) << made.error().toString();
  auto split = made->split(std::string(text));
  EXPECT_TRUE(split.has_value()) << split.error().toString();
  Texts words;
  for (size_t i = 0; split && i < split->spans.size(); ++i)
    words.emplace_back(split->at(i));
  return words;
}

TEST(Pretokenizer, EveryNameIsInOneFamilyAndCompiles) {
  std::set<std::string_view> seen;
  for (const PretokenizerFamily &family : pretokenizerFamilies())
    for (std::string_view name : family.names) {
      EXPECT_TRUE(seen.insert(name).second) << name;
      EXPECT_TRUE(Pretokenizer::create(name).has_value()) << name;
    }
  EXPECT_EQ(seen.size(), 91u);
}

TEST(Pretokenizer, EveryFamilyCoversTheTextWithWordsThatAreNotEmpty) {
  std::string text =
      " Don't\tpay  $1,234.56 in 中文字 — naïve\r\n\n  x\u0301 ١٢٣ 👩‍👩‍👧 "
      "\u00a0 "
      "end  ";
  for (const PretokenizerFamily &family : pretokenizerFamilies()) {
    std::string joined;
    for (const std::string &word : wordsOf(family.names[0], text)) {
      EXPECT_FALSE(word.empty()) << family.names[0];
      joined += word;
    }
    EXPECT_EQ(joined, text) << family.names[0];
  }
}

TEST(Pretokenizer, NumbersAreApartFromTheSpacesBeforeThem) {
  EXPECT_THAT(wordsOf("afmoe", "a  1234567 b\n 12"),
              ElementsAre("a", "  ", "1", "234", "567", " b", "\n", " ", "12"));
}

TEST(Pretokenizer, AnUnknownNameIsRefusedInASentenceThatHoldsIt) {
  auto made = Pretokenizer::create("klingon-bpe");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::Unsupported);
  EXPECT_THAT(made.error().message, HasSubstr("'klingon-bpe'"));
}

TEST(Pretokenizer, Gpt2KeepsNumbersWholeAndSmolLmCutsThemIntoDigits) {
  EXPECT_THAT(wordsOf("gpt-2", "in 2024"), ElementsAre("in", " 2024"));
  EXPECT_THAT(wordsOf("smollm", "in 2024"), ElementsAre("in", " ", "2", "0", "2", "4"));
}

TEST(Pretokenizer, Llama3CutsNumbersIntoThreesAndQwen2IntoDigits) {
  EXPECT_THAT(wordsOf("llama-bpe", "x12345"), ElementsAre("x", "123", "45"));
  EXPECT_THAT(wordsOf("qwen2", "x123"), ElementsAre("x", "1", "2", "3"));
}

TEST(Pretokenizer, ContractionsAreWordsAndOnlyTheNewerFamiliesTakeCapitals) {
  EXPECT_THAT(wordsOf("gpt-2", "we'll"), ElementsAre("we", "'ll"));
  EXPECT_THAT(wordsOf("gpt-2", "WE'LL"), ElementsAre("WE", "'", "LL"));
  EXPECT_THAT(wordsOf("llama-bpe", "WE'LL"), ElementsAre("WE", "'LL"));
}

TEST(Pretokenizer, TheLastSpaceOfARunGoesWithTheWordAfterIt) {
  EXPECT_THAT(wordsOf("gpt-2", "a   b  "), ElementsAre("a", "  ", " b", "  "));
}

TEST(Pretokenizer, MongolianVowelSeparatorIsNoSpace) {
  EXPECT_THAT(wordsOf("gpt-2", "!\u180e!"), ElementsAre("!\u180e!"));
}

TEST(Pretokenizer, LongRunsOfOneCharacterStayWithinTheStepLimit) {
  for (const PretokenizerFamily &family : pretokenizerFamilies())
    for (const char *unit : {"a", "A", " ", "\n", " \n", "1", "!", "'", "\u0301"}) {
      std::string text;
      while (text.size() < 300'000)
        text += unit;
      auto ends = Pretokenizer::create(family.names[0])->split(text + "x");
      EXPECT_TRUE(ends.has_value()) << family.names[0] << " '" << unit << "'";
    }
}

TEST(Pretokenizer, AnEmptyTextHasNoWords) {
  EXPECT_TRUE(wordsOf("smollm", "").empty());
}

SpecialTokens specialTokens() {
  return *SpecialTokens::create({{"<a>", 0, true},
                                 {"<a><b>", 1, true},
                                 {"  ", 2, false},
                                 {"    ", 3, false},
                                 {"", 4, false},
                                 {"<ab", 5, false}});
}

// The ids in the order found.
std::vector<TokenId> found(std::string_view text, std::vector<SpecialTokens::Range> markup) {
  SpecialTokens special = specialTokens();
  std::vector<TokenId> ids;
  for (size_t at = 0; auto match = special.next(text, at, markup); at = match->range.end)
    ids.push_back(match->id);
  return ids;
}

TEST(SpecialTokens, TheLongestAtAPlaceWins) {
  EXPECT_THAT(found("<a><b><a>", {{0, 9}}), ElementsAre(1, 0));
  EXPECT_THAT(found("      x", {}), ElementsAre(3, 2));
}

TEST(SpecialTokens, MarkupIsFoundInsideMarkupRangesOnly) {
  EXPECT_THAT(found("<a><a><a>", {{3, 6}}), ElementsAre(0));
  EXPECT_THAT(found("<a><b>", {{0, 5}}), ElementsAre(0));
  EXPECT_THAT(found("<a>", {}), ElementsAre());
}

TEST(SpecialTokens, UserDefinedTokensAreFoundEverywhere) {
  EXPECT_THAT(found("x  y<ab", {}), ElementsAre(2, 5));
}

TEST(SpecialTokens, AnOverlongTextIsRefused) {
  std::string text(SpecialTokens::kMaxTextBytes + 1, 'x');
  auto made = SpecialTokens::create({{text, 7, false}});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::Unsupported);
  EXPECT_THAT(made.error().message, HasSubstr("token 7"));
}

} // namespace
} // namespace sinter
