// Tokenizers of every kind on vocabularies of a few tokens, and long texts on each.
#include "llm/token_test_data.h"
#include "llm/tokenizer/detokenizer.h"
#include "llm/tokenizer/space_cleaning.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer made(const VocabularyData &data) {
  auto tokenizer = Tokenizer::create(data);
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().toString();
  return std::move(*tokenizer);
}

std::vector<TokenId> bareIds(const Tokenizer &tokenizer, std::string_view text) {
  return idsOf(tokenizer, text, {.addSpecial = false});
}

// 0 unknown, 1 begin, 2 end, 3 ▁, 4 a, 5 b, 6 ab, 7 ▁ab, 8 ba, 9 <0x21>, 10 <tool>, 11 ▁▁
VocabularyData sentencePiece() {
  VocabularyData data;
  data.model = "llama";
  data.tokens = {"<unk>", "<s>", "</s>", "▁",      "a",      "b",
                 "ab",    "▁ab", "ba",   "<0x21>", "<tool>", "▁▁"};
  data.types = {2, 3, 3, 1, 1, 1, 1, 1, 1, 6, 4, 1};
  data.scores = {0, 0, 0, -9, -9, -9, -2, -3, -1, 0, 0, -4};
  return data;
}

TEST(SentencePieceBpe, JoinsTheNeighboursOfTheBestScoreFirst) {
  const Tokenizer tokenizer = made(sentencePiece());
  EXPECT_THAT(bareIds(tokenizer, "ab"), ElementsAre(7));
  EXPECT_THAT(bareIds(tokenizer, "aba"), ElementsAre(3, 4, 8));
}

TEST(SentencePieceBpe, PutsASpaceBeforeEachTextUnlessTheFileSaysNo) {
  VocabularyData data = sentencePiece();
  EXPECT_THAT(bareIds(made(data), "<tool>ab"), ElementsAre(10, 7));
  data.addSpacePrefix = false;
  EXPECT_THAT(bareIds(made(data), "<tool>ab"), ElementsAre(10, 6));
}

TEST(SentencePieceBpe, SpellsUnknownCharactersInBytesOrCallsThemUnknown) {
  EXPECT_THAT(bareIds(made(sentencePiece()), "a!"), ElementsAre(3, 4, 9));
  EXPECT_THAT(bareIds(made(sentencePiece()), "aé"), ElementsAre(3, 4, 0));
}

TEST(SentencePieceBpe, AddsTheBeginTokenAndGivesTheTextBack) {
  const Tokenizer tokenizer = made(sentencePiece());
  const auto ids = idsOf(tokenizer, "ab  ab!");
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(detokenize(tokenizer, ids), "ab  ab!");
}

TEST(SentencePieceBpe, TextNeverBecomesAControlToken) {
  VocabularyData data = sentencePiece();
  data.tokens.insert(data.tokens.end(), {"<", "s", "<s"});
  data.types.insert(data.types.end(), {1, 1, 1});
  data.scores.insert(data.scores.end(), {-1, -1, -1});
  const auto ids = bareIds(made(data), "<s>");
  EXPECT_THAT(ids, testing::Not(testing::Contains(1)));
}

// 0 <bos>, 1 a, 2 b, 3 ▁, 4 a▁, 5 \n, 6 \n\n, 7 <0xC3>, 8 <0xA9>, 9 a▁b
VocabularyData rawMerges() {
  VocabularyData data;
  data.model = "gemma4";
  data.tokens = {"<bos>", "a", "b", "▁", "a▁", "\n", "\n\n", "<0xC3>", "<0xA9>", "a▁b"};
  data.types = {3, 1, 1, 1, 1, 1, 1, 6, 6, 1};
  data.merges = {"a ▁", "a▁ b"};
  data.bos = 0;
  return data;
}

TEST(RawMerges, RunAcrossSpacesAndTakeNewlinesWhole) {
  const Tokenizer tokenizer = made(rawMerges());
  EXPECT_THAT(bareIds(tokenizer, "a b\n\na"), ElementsAre(9, 6, 1));
  EXPECT_THAT(bareIds(tokenizer, "\n\n\n"), ElementsAre(5, 5, 5));
}

TEST(RawMerges, SpellUnknownCharactersInBytes) {
  const Tokenizer tokenizer = made(rawMerges());
  const auto ids = bareIds(tokenizer, "aéa");
  EXPECT_THAT(ids, ElementsAre(1, 7, 8, 1));
  EXPECT_EQ(detokenize(tokenizer, ids), "aéa");
}

TEST(RawMerges, AlwaysAddTheBeginToken) {
  VocabularyData data = rawMerges();
  data.addBos = false;
  EXPECT_THAT(idsOf(made(data), "a"), ElementsAre(0, 1));
}

// 0 [UNK], 1 [CLS], 2 [SEP], 3 ▁cafe, 4 s, 5 ▁中, 6 ▁文, 7 ▁!, 8 ▁c
VocabularyData wordPiece() {
  VocabularyData data;
  data.model = "bert";
  data.tokens = {"[UNK]", "[CLS]", "[SEP]", "▁cafe", "s", "▁中", "▁文", "▁!", "▁c"};
  data.types = {2, 3, 3, 1, 1, 1, 1, 1, 1};
  data.unknown = 0;
  data.bos = 1;
  data.separator = 2;
  return data;
}

TEST(WordPiece, TakesTheLongestPieceOfLowercasedWordsWithoutAccents) {
  EXPECT_THAT(idsOf(made(wordPiece()), "CAFÉs cafe!"), ElementsAre(1, 3, 4, 3, 7, 2));
}

TEST(WordPiece, TakesChineseCharactersOneByOne) {
  EXPECT_THAT(bareIds(made(wordPiece()), "中文"), ElementsAre(5, 6));
}

TEST(WordPiece, AWordWithoutAPieceIsUnknownAsAWhole) {
  EXPECT_THAT(bareIds(made(wordPiece()), "cafex cafe"), ElementsAre(0, 3));
}

TEST(WordPiece, KeepsCaseAndAccentsWhereTheFileSaysSo) {
  VocabularyData data = wordPiece();
  data.lowercase = false;
  EXPECT_THAT(bareIds(made(data), "CAFE"), ElementsAre(0));
  EXPECT_THAT(bareIds(made(data), "café"), ElementsAre(0));
  data.stripAccents = true;
  EXPECT_THAT(bareIds(made(data), "café"), ElementsAre(3));
}

// 0 pad, 1 end, 2 unknown, 3 ▁, 4 a, 5 b, 6 ab, 7 ▁a
VocabularyData unigram() {
  VocabularyData data;
  data.model = "t5";
  data.tokens = {"<pad>", "</s>", "<unk>", "▁", "a", "b", "ab", "▁a"};
  data.types = {3, 3, 2, 1, 1, 1, 1, 1};
  data.scores = {0, 0, 0, -2, -3, -3, -4, -2.5};
  data.mergeSpaces = true;
  return data;
}

TEST(Unigram, TakesTheSequenceOfTheGreatestSum) {
  EXPECT_THAT(bareIds(made(unigram()), "ab"), ElementsAre(7, 5)); // -5.5 against -6 and -8
  VocabularyData data = unigram();
  data.scores[7] = -3.5;
  EXPECT_THAT(bareIds(made(data), "ab"), ElementsAre(3, 6)); // -6 against -6.5
}

TEST(Unigram, MergesSpacesAndUnknownCharactersAndAddsTheEnd) {
  EXPECT_THAT(idsOf(made(unigram()), "  a  éé b"), ElementsAre(7, 3, 2, 3, 5, 1));
}

TEST(Unigram, WithoutScoresIsCorrupt) {
  VocabularyData data = unigram();
  data.scores.clear();
  auto tokenizer = Tokenizer::create(data);
  ASSERT_FALSE(tokenizer.has_value());
  EXPECT_EQ(tokenizer.error().code, Code::Corrupt);
  EXPECT_THAT(tokenizer.error().message, HasSubstr("no scores"));
}

TEST(LongestMatch, TakesTheLongestTokenOverBytesAndReadsEscapes) {
  VocabularyData data;
  data.model = "rwkv";
  data.tokens = {"a", "ab", "abc", R"(\n)", R"(\xc3)", R"(\xa9)", R"(\\)"};
  const Tokenizer tokenizer = made(data);
  const auto ids = bareIds(tokenizer, "abca\né\\");
  EXPECT_THAT(ids, ElementsAre(2, 0, 3, 4, 5, 6));
  EXPECT_EQ(detokenize(tokenizer, ids), "abca\né\\");
}

TEST(Plamo2, TakesTheCheapestSequenceAndOfEqualsTheLongestFirstToken) {
  VocabularyData data;
  data.model = "plamo2";
  data.tokens = {"<unk>", "<s>", "</s>", "a", "b", "ab", "ba", "<0x63>"};
  data.types = {2, 3, 3, 1, 1, 1, 1, 6};
  data.scores = {0, 0, 0, -2, -2, -3, -3, 0};
  const Tokenizer tokenizer = made(data);
  EXPECT_THAT(bareIds(tokenizer, "aba"), ElementsAre(5, 3));
  EXPECT_THAT(bareIds(tokenizer, "acb"), ElementsAre(3, 7, 4));
}

TEST(NoVocabulary, HasTokensButNoText) {
  VocabularyData data;
  data.model = "none";
  data.size = 100;
  const Tokenizer tokenizer = made(data);
  EXPECT_EQ(tokenizer.size(), 100u);
  EXPECT_EQ(detokenize(tokenizer, std::vector<TokenId>{5}), "");
  EXPECT_EQ(tokenizer.encode("a").error().code, Code::Unsupported);
}

TEST(StrippingTokens, TakeWhiteSpaceAlongWhereTheModelsNameImpliesIt) {
  VocabularyData data = sentencePiece();
  data.modelName = "Phi-3 mini";
  EXPECT_THAT(bareIds(made(data), "<tool> \n ab"), ElementsAre(10, 7));
  data.modelName = "Another";
  EXPECT_THAT(bareIds(made(data), "<tool> ab"), ElementsAre(10, 3, 7));
  data.architecture = "nomic-bert-moe";
  data.tokens[10] = "<mask>";
  EXPECT_THAT(bareIds(made(data), "ab  <mask>"), ElementsAre(7, 10));
}

TEST(StructuringTokens, AreShownThoughTextCannotMakeThem) {
  VocabularyData data = sentencePiece();
  data.tokens[10] = "<|channel|>";
  data.types[10] = 3;
  const Tokenizer tokenizer = made(data);
  EXPECT_FALSE(tokenizer.isHidden(10));
  EXPECT_THAT(bareIds(tokenizer, "<|channel|>"), testing::Not(testing::Contains(10)));
  EXPECT_EQ(detokenize(tokenizer, std::vector<TokenId>{10, 4}), "<|channel|>a");
}

TEST(LongTexts, TakeTimeInProportionForEveryKind) {
  for (const VocabularyData &data :
       {smallVocabulary(), sentencePiece(), rawMerges(), wordPiece(), unigram()}) {
    const Tokenizer tokenizer = made(data);
    for (const char *unit : {"a", " ", "\n", "🫠", "ab", "\u0301\u0323"}) {
      std::string text;
      while (text.size() < 1 << 18)
        text += unit;
      EXPECT_TRUE(tokenizer.encode(text).has_value()) << data.model << " '" << unit << "'";
    }
  }
}

TEST(HostileVocabulary, WithATokenThatMakesPrefixesSlowIsUnsupported) {
  VocabularyData data = unigram();
  const std::string token(1025, 'a');
  data.tokens[6] = token;
  auto tokenizer = Tokenizer::create(data);
  ASSERT_FALSE(tokenizer.has_value());
  EXPECT_EQ(tokenizer.error().code, Code::Unsupported);
  EXPECT_THAT(tokenizer.error().message, HasSubstr("token 6 has 1025 bytes"));
}

TEST(HostileVocabulary, WithScoresThatAreNoNumbersStillEncodes) {
  for (const double score :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()})
    for (VocabularyData data : {unigram(), sentencePiece()}) {
      std::ranges::fill(data.scores, score);
      EXPECT_FALSE(bareIds(made(data), "ab ab").empty());
    }
}

TEST(HostileVocabulary, WithFewerScoresThanTokensIsCorrupt) {
  VocabularyData data = unigram();
  data.scores.pop_back();
  EXPECT_THAT(Tokenizer::create(data).error().message, HasSubstr("7 token scores, expected 8"));
}

TEST(CleanedSpaces, LosesTheSpaceBeforePunctuationAndContractions) {
  EXPECT_EQ(cleanedSpaces("a , b . it 's we 've ' x"), "a, b. it's we've'x");
  EXPECT_EQ(cleanedSpaces("a  b"), "a  b");
}

} // namespace
} // namespace sinter
