// Tokenizers and detokenizers: what they promise, and vocabularies that contradict themselves.
#include "llm/tokenizer/tokenizer.h"

#include "llm/token_test_data.h"
#include "llm/tokenizer/detokenizer.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer smallTokenizer() {
  return std::move(*Tokenizer::create(smallVocabulary()));
}

// The error that a vocabulary gets after `spoil` has been at it.
template <typename Spoil> Status refusal(Spoil spoil) {
  VocabularyData data = smallVocabulary();
  spoil(data);
  auto made = Tokenizer::create(data);
  EXPECT_FALSE(made.has_value());
  return made ? Status{Code::Internal, "no error"} : made.error();
}

// The tokenizer of a vocabulary that is loaded with a warning, after `spoil` has been at it.
template <typename Spoil> Tokenizer oddTokenizer(Spoil spoil) {
  VocabularyData data = smallVocabulary();
  spoil(data);
  auto made = Tokenizer::create(data);
  EXPECT_TRUE(made.has_value()) << made.error().toString();
  return std::move(*made);
}

TEST(Tokenizer, MergesInOrderOfRankNotOfPlace) {
  VocabularyData data = smallVocabulary();
  data.tokens.push_back("bc");
  data.types.push_back(1);
  data.merges = {"b c", "a b", "ab c"};
  auto tokenizer = Tokenizer::create(data);
  EXPECT_THAT(idsOf(*tokenizer, "abc"), ElementsAre(0, 9));
}

TEST(Tokenizer, OfEqualMergesTheLeftmostIsFirst) {
  VocabularyData data = smallVocabulary();
  data.tokens.push_back("aa");
  data.types.push_back(1);
  data.merges = {"a a"};
  auto tokenizer = Tokenizer::create(data);
  EXPECT_THAT(idsOf(*tokenizer, "aaa"), ElementsAre(9, 0));
}

TEST(Tokenizer, ARepeatedMergeKeepsItsFirstRank) {
  VocabularyData data = smallVocabulary();
  data.tokens.push_back("bc");
  data.types.push_back(1);
  data.merges = {"b c", "a b", "ab c", "b c"};
  auto tokenizer = Tokenizer::create(data);
  EXPECT_THAT(idsOf(*tokenizer, "abc"), ElementsAre(0, 9));
}

TEST(Tokenizer, ControlTokensInTextAreTextUnlessAskedFor) {
  Tokenizer tokenizer = smallTokenizer();
  EXPECT_THAT(idsOf(tokenizer, "ab<end>c", {.parseSpecial = true}), ElementsAre(4, 6, 2));
  EXPECT_THAT(idsOf(tokenizer, "ab<end>c"), ElementsAre(4, 3, 2));
}

TEST(Tokenizer, UserDefinedTokensAreTakenAlways) {
  EXPECT_THAT(idsOf(smallTokenizer(), "a<cut>b"), ElementsAre(0, 7, 1));
}

TEST(Tokenizer, ControlTokensAreReadInMarkupPartsAndNotInOthers) {
  std::vector<PromptPart> parts = {
      {"a<end>", true}, {"b<end>", false}, {"<en", true}, {"d>", true}};
  auto encoding = smallTokenizer().encode(parts);
  EXPECT_THAT(encoding->ids, ElementsAre(0, 6, 1, 3, 6));
}

TEST(Tokenizer, AControlTokenDoesNotFormAcrossTheBorderOfTrust) {
  std::vector<PromptPart> parts = {{"<en", true}, {"d>", false}};
  EXPECT_THAT(smallTokenizer().encode(parts)->ids, ElementsAre(3));
}

TEST(Tokenizer, WordsRunAcrossTheBordersOfParts) {
  std::vector<PromptPart> parts = {{"a", true}, {"b", false}, {"c", false}};
  EXPECT_THAT(smallTokenizer().encode(parts)->ids, ElementsAre(5));
}

TEST(Tokenizer, NoMergeMakesAControlToken) {
  VocabularyData data = smallVocabulary();
  data.types[4] = 3;
  auto tokenizer = Tokenizer::create(data);
  EXPECT_THAT(idsOf(*tokenizer, "abc"), ElementsAre(0, 1, 2));
}

TEST(Tokenizer, BytesWithoutATokenAreCountedAsDropped) {
  auto encoding = smallTokenizer().encode("aXYb");
  EXPECT_THAT(encoding->ids, ElementsAre(0, 1));
  EXPECT_EQ(encoding->droppedBytes, 2u);
}

TEST(Tokenizer, BytesThatAreNotUtf8AreCountedAsReplaced) {
  auto encoding = smolLm2Tokenizer().encode("a\xFF\xFE");
  EXPECT_EQ(encoding->replacedBytes, 2u);
  EXPECT_EQ(encoding->ids, idsOf(smolLm2Tokenizer(), "a\uFFFD\uFFFD"));
}

TEST(Tokenizer, BeginAndEndTokensAreAddedWhereTheVocabularyWantsThem) {
  VocabularyData data = smallVocabulary();
  data.bos = 7;
  data.addBos = data.addEos = true;
  auto tokenizer = Tokenizer::create(data);
  EXPECT_THAT(idsOf(*tokenizer, "a"), ElementsAre(7, 0, 6));
  EXPECT_THAT(idsOf(*tokenizer, "a", {.addSpecial = false}), ElementsAre(0));
}

TEST(Tokenizer, Llama3VocabulariesAddTheBeginTokenUnlessTheFileSaysNo) {
  VocabularyData data = smallVocabulary();
  data.pre = "llama-bpe";
  data.bos = 7;
  EXPECT_TRUE(Tokenizer::create(data)->addsBos());
  data.addBos = false;
  EXPECT_FALSE(Tokenizer::create(data)->addsBos());
}

TEST(Tokenizer, Llama3VocabulariesTakeWholeWordsBeforeMerges) {
  VocabularyData data = smallVocabulary();
  data.pre = "llama-bpe";
  data.tokens.push_back("abcd");
  data.types.push_back(1);
  EXPECT_THAT(idsOf(*Tokenizer::create(data), "abcd"), ElementsAre(9));
  data.pre = "gpt-2";
  EXPECT_THAT(idsOf(*Tokenizer::create(data), "abcd"), ElementsAre(5, 3));
}

TEST(Tokenizer, AMegabyteOfOneLetterIsEncodedWhole) {
  std::string text(1 << 20, 'a');
  auto ids = idsOf(smolLm2Tokenizer(), text);
  EXPECT_EQ(detokenize(smolLm2Tokenizer(), ids), text);
}

TEST(Tokenizer, KnowsWhereGenerationEnds) {
  const Tokenizer &tokenizer = smolLm2Tokenizer();
  EXPECT_TRUE(tokenizer.endsGeneration(*tokenizer.findSpecial("<|im_end|>")));
  EXPECT_TRUE(tokenizer.endsGeneration(*tokenizer.findSpecial("<|endoftext|>")));
  EXPECT_FALSE(tokenizer.endsGeneration(*tokenizer.findSpecial("<|im_start|>")));
  EXPECT_EQ(tokenizer.eot(), tokenizer.findSpecial("<|im_end|>"));
}

TEST(Tokenizer, AKnownEndTextIsAControlTokenWhateverItsTypeSays) {
  VocabularyData data = smallVocabulary();
  data.tokens.push_back("<|im_end|>");
  data.types.push_back(1);
  auto tokenizer = Tokenizer::create(data);
  EXPECT_TRUE(tokenizer->isHidden(9));
  EXPECT_TRUE(tokenizer->endsGeneration(9));
}

// The small vocabulary with these tokens, all of type 1, after its own nine.
VocabularyData withTokens(std::initializer_list<std::string_view> texts) {
  VocabularyData data = smallVocabulary();
  data.tokens.insert(data.tokens.end(), texts);
  data.types.resize(data.tokens.size(), 1);
  return data;
}

std::vector<TokenId> endsOf(const VocabularyData &data) {
  auto tokenizer = Tokenizer::create(data);
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().toString();
  std::vector<TokenId> ends;
  for (TokenId id = 0; tokenizer && tokenizer->contains(id); ++id)
    if (tokenizer->endsGeneration(id))
      ends.push_back(id);
  return ends;
}

TEST(Tokenizer, EachEndTokenThatTheFileNamesEndsGeneration) {
  VocabularyData data = smallVocabulary();
  EXPECT_THAT(endsOf(data), ElementsAre(6));
  data.eot = 1;
  data.eom = 2;
  data.fimPad = 3;
  data.fimRepository = 4;
  data.fimSeparator = 5;
  EXPECT_THAT(endsOf(data), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Tokenizer, EndsAreKnownByTheirTextToo) {
  for (const char *text : {"<|eom_id|>", "<|flush|>", "<|calls|>", "</s>", "<eos>", "<turn|>",
                           "<|tool_response>", "[e~["})
    EXPECT_THAT(endsOf(withTokens({text})), ElementsAre(6, 9)) << text;
}

TEST(Tokenizer, InfillingTokensThatTheFileNamesReplaceThoseKnownByText) {
  VocabularyData data = withTokens({"<|fim_pad|>", "<|file_sep|>"});
  EXPECT_THAT(endsOf(data), ElementsAre(6, 9, 10));
  data.fimPad = 3;
  EXPECT_THAT(endsOf(data), ElementsAre(3, 6, 10));
}

TEST(Tokenizer, InfillingTokensAreKnownByTextAndByWhatTheFileNames) {
  VocabularyData data = withTokens({"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"});
  const auto known = Tokenizer::create(data);
  ASSERT_TRUE(known.has_value());
  EXPECT_TRUE(known->infill().canFill());
  EXPECT_EQ(known->infill().suffix, 10);
  EXPECT_EQ(known->infill().separator, std::nullopt);
  data.fimSuffix = 3;
  EXPECT_EQ(Tokenizer::create(data)->infill().suffix, 3);
  EXPECT_FALSE(Tokenizer::create(smallVocabulary())->infill().canFill());
}

TEST(Tokenizer, AMessageOfAChannelDoesNotEndTheAnswer) {
  EXPECT_THAT(endsOf(withTokens({"<|end|>", "<|return|>"})), ElementsAre(6, 9, 10));
  EXPECT_THAT(endsOf(withTokens({"<|end|>", "<|return|>", "<|call|>"})), ElementsAre(6, 10, 11));
  EXPECT_THAT(endsOf(withTokens({"<|end|>", "<|flush|>", "<|calls|>"})), ElementsAre(6, 10, 11));
  VocabularyData named = withTokens({"<|end|>", "<|return|>", "<|call|>"});
  named.eot = 9;
  EXPECT_THAT(endsOf(named), ElementsAre(6, 10, 11));
}

TEST(Tokenizer, ATagOfHypertextIsANormalTokenWhereOthersEndTheAnswer) {
  const VocabularyData data = withTokens({"</s>", "<|tool_response>"});
  EXPECT_THAT(endsOf(data), ElementsAre(6, 10));
  EXPECT_FALSE(Tokenizer::create(data)->isHidden(9));
}

TEST(Tokenizer, SuppressedTokensAreThoseOfTheVocabularyInOrder) {
  VocabularyData data = smallVocabulary();
  data.suppressed = {8, -1, 2, 9, int64_t(1) << 40};
  EXPECT_THAT(Tokenizer::create(data)->suppressed(), ElementsAre(2, 8));
}

TEST(Tokenizer, AnEmptyTokenIsNeverFoundAndRendersNothing) {
  VocabularyData data = smallVocabulary();
  data.tokens[7] = data.tokens[8] = "";
  auto tokenizer = Tokenizer::create(data);
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().toString();
  EXPECT_THAT(idsOf(*tokenizer, "a"), ElementsAre(0));
  EXPECT_EQ(tokenizer->piece(7), "");
}

TEST(HostileVocabulary, WithoutTokensIsCorrupt) {
  Status status = refusal([](VocabularyData &data) { data.tokens.clear(); });
  EXPECT_EQ(status.code, Code::Corrupt);
  EXPECT_THAT(status.message, HasSubstr("no tokens"));
}

TEST(HostileVocabulary, WithAnotherNumberOfTypesIsCorrupt) {
  Status status = refusal([](VocabularyData &data) { data.types.pop_back(); });
  EXPECT_EQ(status.code, Code::Corrupt);
  EXPECT_THAT(status.message, HasSubstr("8 token types, expected 9"));
}

TEST(OddVocabulary, ATokenOfATypeThatDoesNotExistIsNotShown) {
  for (int64_t type : {int64_t{0}, int64_t{-1}, int64_t{7}, INT64_MIN, INT64_MAX}) {
    const Tokenizer odd = oddTokenizer([&](VocabularyData &data) { data.types[2] = type; });
    EXPECT_THAT(odd.warnings(), ElementsAre(HasSubstr("1 tokens have a type")));
    EXPECT_EQ(odd.piece(2), "");
  }
}

TEST(HostileVocabulary, WithATextTwiceIsCorruptAndNamesBothTokens) {
  Status status = refusal([](VocabularyData &data) { data.tokens[3] = "b"; });
  EXPECT_EQ(status.code, Code::Corrupt);
  EXPECT_THAT(status.message, HasSubstr("tokens 1 and 3 are both 'b'"));
}

TEST(OddVocabulary, AMergeOfATextThatIsNoTokenIsNamed) {
  const Tokenizer odd = oddTokenizer([](VocabularyData &data) { data.merges[1] = "ab zz"; });
  EXPECT_THAT(odd.warnings(), ElementsAre(HasSubstr("1 of 2 merges")));
  EXPECT_THAT(odd.warnings(), ElementsAre(HasSubstr("'ab zz'")));
  EXPECT_THAT(idsOf(odd, "abc"), ElementsAre(4, 2));
}

TEST(OddVocabulary, AMergeIntoATextThatIsNoTokenLeadsOnToOneThatIs) {
  const Tokenizer odd = oddTokenizer([](VocabularyData &data) {
    data.merges = {"c d", "b cd", "a bcd"};
    data.tokens.push_back("abcd");
    data.types.push_back(1);
  });
  EXPECT_THAT(odd.warnings(), ElementsAre(HasSubstr("3 of 3 merges")));
  EXPECT_THAT(idsOf(odd, "abcd"), ElementsAre(9));
  EXPECT_THAT(idsOf(odd, "cdd"), ElementsAre(2, 3, 3));
}

TEST(OddVocabulary, AMergeThatIsNoPairIsLeftOut) {
  for (std::string_view merge : {"", " ", "ab", "a ", " b"}) {
    const Tokenizer odd = oddTokenizer([&](VocabularyData &data) { data.merges[0] = merge; });
    EXPECT_THAT(odd.warnings(), ElementsAre(HasSubstr("1 of 2 merges"))) << merge;
    EXPECT_THAT(idsOf(odd, "ab"), ElementsAre(0, 1)) << merge;
  }
}

TEST(OddVocabulary, ASpecialIdOutsideItIsIgnored) {
  for (int64_t id : {int64_t{-1}, int64_t{9}, INT64_MIN, INT64_MAX}) {
    const Tokenizer odd = oddTokenizer([&](VocabularyData &data) { data.eos = id; });
    EXPECT_THAT(odd.warnings(),
                ElementsAre(HasSubstr("end-of-text token id is " + std::to_string(id))));
    EXPECT_EQ(odd.eos(), std::nullopt);
  }
}

TEST(OddVocabulary, ThatWantsABeginTokenButNamesNoneAddsNone) {
  const Tokenizer odd = oddTokenizer([](VocabularyData &data) { data.addBos = true; });
  EXPECT_THAT(odd.warnings(), ElementsAre(HasSubstr("begin-of-text")));
  EXPECT_THAT(idsOf(odd, "a"), ElementsAre(0));
}

TEST(HostileVocabulary, WithTextsThatAreNotUtf8StillStreamsValidText) {
  VocabularyData data = smallVocabulary();
  data.tokens[7] = "\xFF\x80";
  data.tokens[3] = "\xE4";
  auto tokenizer = Tokenizer::create(data);
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().toString();
  EXPECT_EQ(detokenize(*tokenizer, std::vector<TokenId>{7, 3, 0}), "\uFFFD\uFFFD\uFFFDa");
}

TEST(Detokenizer, HoldsACharacterBackUntilItsLastByte) {
  const Tokenizer &tokenizer = smolLm2Tokenizer();
  auto ids = idsOf(tokenizer, "🫠");
  ASSERT_GE(ids.size(), 2u);
  Detokenizer stream(tokenizer);
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    EXPECT_EQ(stream.push(ids[i]), "");
  EXPECT_EQ(stream.push(ids.back()), "🫠");
}

TEST(Detokenizer, WhatIsLeftAtTheEndIsRepairedOnce) {
  const Tokenizer &tokenizer = smolLm2Tokenizer();
  auto ids = idsOf(tokenizer, "中🫠");
  Detokenizer stream(tokenizer);
  std::string text;
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    text += *stream.push(ids[i]);
  text += stream.finish();
  EXPECT_THAT(text, testing::StartsWith("中\uFFFD"));
  EXPECT_EQ(stream.finish(), "");
}

TEST(Detokenizer, ControlTokensShowOnlyWhenAskedFor) {
  std::vector<TokenId> ids = {0, 6, 7};
  EXPECT_EQ(detokenize(smallTokenizer(), ids), "a<cut>");
  EXPECT_EQ(detokenize(smallTokenizer(), ids, true), "a<end><cut>");
}

TEST(Detokenizer, AnIdOutsideTheVocabularyIsAnErrorAndChangesNothing) {
  Tokenizer tokenizer = smallTokenizer();
  Detokenizer stream(tokenizer);
  for (TokenId id : {-1, 9, INT32_MIN, INT32_MAX}) {
    auto text = stream.push(id);
    ASSERT_FALSE(text.has_value());
    EXPECT_EQ(text.error().code, Code::InvalidArgument);
  }
  EXPECT_EQ(stream.push(0), "a");
}

} // namespace
} // namespace sinter
