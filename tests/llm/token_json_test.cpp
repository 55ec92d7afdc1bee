// tokenizer.json and tekken.json: what they say, and files of odd shapes.
#include "llm/token_test_data.h"
#include "llm/tokenizer/detokenizer.h"
#include "llm/tokenizer/json/base64.h"
#include "llm/tokenizer/json/tokenizer_json.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Tokenizer> fromJson(std::string_view json) {
  return vocabularyFromJson(json).and_then(Tokenizer::create);
}

Tokenizer made(std::string_view json) {
  auto tokenizer = fromJson(json);
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().toString();
  return std::move(*tokenizer);
}

std::string refusal(std::string_view json) {
  auto tokenizer = fromJson(json);
  EXPECT_FALSE(tokenizer.has_value()) << json;
  return tokenizer ? "" : tokenizer.error().message;
}

constexpr const char *kMerges = R"({
  "added_tokens": [
    {"id": 5, "content": "<s>", "special": true},
    {"id": 6, "content": "<cut>", "special": false, "lstrip": true, "normalized": false}],
  "normalizer": {"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}}},
  "decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
  "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
    "vocab": {"<unk>": 0, "a": 1, "b": 2, "▁": 3, "▁a": 4, "<0x21>": 7},
    "merges": [["▁", "a"]]}})";

TEST(TokenizerJson, ReadsMergesNormalizersAndTheTokensAroundAPrompt) {
  const Tokenizer tokenizer = made(kMerges);
  const auto ids = idsOf(tokenizer, "a a!");
  EXPECT_THAT(ids, ElementsAre(5, 4, 4, 7));
  EXPECT_EQ(tokenizer.bos(), 5);
  EXPECT_TRUE(tokenizer.addsBos());
  EXPECT_EQ(detokenize(tokenizer, ids), "a a!");
}

TEST(TokenizerJson, FusesUnknownCharactersWithinAText) {
  EXPECT_THAT(idsOf(made(kMerges), "aéé", {.addSpecial = false}), ElementsAre(4, 0));
}

TEST(TokenizerJson, AddedTokensAreFoundAsTheyAreDescribed) {
  const Tokenizer tokenizer = made(kMerges);
  EXPECT_THAT(idsOf(tokenizer, "a  <cut>a", {.addSpecial = false}), ElementsAre(4, 6, 4));
  EXPECT_THAT(idsOf(tokenizer, "<s>", {.addSpecial = false}), testing::Not(testing::Contains(5)));
}

TEST(TokenizerJson, ReadsWordPiecesAndTheirEnds) {
  const Tokenizer tokenizer = made(R"({
    "normalizer": {"type": "BertNormalizer", "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "added_tokens": [{"id": 1, "content": "[CLS]", "special": true}, {"id": 2, "content": "[SEP]", "special": true}],
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "ab": 3, "##c": 4, ".": 5}}})");
  EXPECT_THAT(idsOf(tokenizer, "ABc abd."), ElementsAre(1, 3, 4, 0, 5, 2));
  EXPECT_EQ(detokenize(tokenizer, std::vector<TokenId>{3, 4, 3}), "abc ab");
}

TEST(TokenizerJson, ReadsUnigramsByteLevelsAndSplits) {
  const Tokenizer unigram = made(R"({
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "model": {"type": "Unigram", "unk_id": 0,
      "vocab": [["<unk>", 0], ["▁", -2], ["a", -3], ["▁a", -2.5]]}})");
  EXPECT_THAT(idsOf(unigram, "a aé"), ElementsAre(3, 3, 0));
  const Tokenizer bytes = made(R"({
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "\\d"}, "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"Ġ": 0, "1": 1, "11": 2, "Ġ1": 3, "Ã": 4, "©": 5},
      "merges": ["1 1", "Ġ 1"]}})");
  EXPECT_THAT(idsOf(bytes, " 11é"), ElementsAre(0, 1, 1, 4, 5));
  EXPECT_EQ(detokenize(bytes, std::vector<TokenId>{3, 4, 5}), " 1é");
}

TEST(TokenizerJson, IdsWithHolesAreTokensThatNothingUses) {
  const Tokenizer tokenizer =
      made(R"({"model": {"type": "BPE", "vocab": {"a": 7}, "merges": []}})");
  EXPECT_EQ(tokenizer.size(), 8u);
  EXPECT_EQ(tokenizer.piece(3), "");
}

TEST(TekkenJson, TokensFollowTheSpecialOnesAndMergeByRank) {
  const Tokenizer tokenizer = made(R"({
    "config": {"pattern": "[a-z]+|[^a-z]+", "default_vocab_size": 7, "default_num_special_tokens": 3},
    "vocab": [{"rank": 0, "token_bytes": "YQ=="}, {"rank": 1, "token_bytes": "Yg=="},
              {"rank": 2, "token_bytes": "YmE="}, {"rank": 3, "token_bytes": "YWI="},
              {"rank": 4, "token_bytes": "eA=="}]})");
  EXPECT_EQ(tokenizer.size(), 7u);
  EXPECT_THAT(idsOf(tokenizer, "aba"), ElementsAre(1, 3, 5));
  EXPECT_THAT(idsOf(tokenizer, "ab", {.addSpecial = false}), ElementsAre(6));
}

TEST(HostileJson, OfAnyOddShapeGetsOneErrorThatNamesIt) {
  struct Case {
    const char *json, *names;
  };
  const Case cases[] = {
      {"", "no JSON"},
      {"{", "no JSON"},
      {"[]", "'model' is nothing"},
      {R"({"model": 5})", "'model' is a number"},
      {R"({"model": {"type": "Markov"}})", "'Markov'"},
      {R"({"model": {"type": "BPE", "vocab": [], "merges": []}})", "'vocab' is an array"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}}})", "'merges' is nothing"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [5]}})", "merge 0 is a number"},
      {R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})", "'a' is -1"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 99999999}, "merges": []}})", "'a' is 99999999"},
      {R"({"model": {"type": "BPE", "vocab": {"a": "x"}, "merges": []}})", "'a' is a string"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}})",
       "both have the id 0"},
      {R"({"model": {"type": "BPE", "vocab": {}, "merges": []}})", "no tokens"},
      {R"({"model": {"type": "Unigram", "vocab": [["a"]]}})", "entry 0"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [{"id": 1}]})",
       "added token 0"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "normalizer": {"type": "Rot13"}})",
       "'Rot13'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}})",
       "'('"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "x"}})",
       "empty text"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"}})",
       "precompiled_charsmap"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "pre_tokenizer": {"type": "Split", "pattern": {}, "behavior": "Isolated"}})",
       "'pattern'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "pre_tokenizer": {"type": "Split", "pattern": {"String": "x"}, "behavior": "Eaten"}})",
       "'behavior'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "pre_tokenizer": {"type": "Tea"}})",
       "'Tea'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "post_processor": {"type": "Mail"}})",
       "'Mail'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "post_processor": {"type": "BertProcessing", "sep": ["x", 0], "cls": ["a", 0]}})",
       "end token is 'x'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
           "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "q"}}],
             "special_tokens": {"q": {"ids": [7]}}}})",
       "special token 'q'"},
      {R"({"config": {}, "vocab": []})", "default_num_special_tokens"},
      {R"({"config": {"default_num_special_tokens": 1, "default_vocab_size": 9, "pattern": "a"}, "vocab": []})",
       "default_vocab_size"},
      {R"({"config": {"default_num_special_tokens": 1, "default_vocab_size": 2, "pattern": "a"},
           "vocab": [{"rank": 0, "token_bytes": "*"}]})",
       "token 0"}};
  for (const Case &odd : cases)
    EXPECT_THAT(refusal(odd.json), HasSubstr(odd.names)) << odd.json;
}

TEST(HostileJson, NestedOrWideBeyondTheLimitsIsExhausted) {
  EXPECT_THAT(refusal(std::string(1000, '[')), HasSubstr("nested deeper than 64"));
  std::string wide = "[";
  while (wide.size() < 18 << 20)
    wide += "0,";
  EXPECT_THAT(refusal(wide + "0]"), HasSubstr("more than 8388608 values"));
}

TEST(Base64, DecodesWholeGroupsAndNothingElse) {
  EXPECT_EQ(decodeBase64("YWJj"), "abc");
  EXPECT_EQ(decodeBase64("YWI="), "ab");
  EXPECT_EQ(decodeBase64("YQ=="), "a");
  EXPECT_EQ(decodeBase64(""), "");
  for (const char *text : {"YWJ", "YW=j", "Y===", "YWI?"})
    EXPECT_EQ(decodeBase64(text), std::nullopt) << text;
}

} // namespace
} // namespace sinter
