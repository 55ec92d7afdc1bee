// Answers that are held to a grammar match it, whatever the logits say.
#include "llm/grammar_constraint.h"

#include "grammar/gbnf.h"
#include "llm/sampler/sampler.h"
#include "llm/token_test_data.h"

#include <gmock/gmock.h>
#include <random>

namespace sinter {
namespace {

constexpr size_t kVocabulary = 9;
constexpr TokenId kEnd = 6;

struct Held {
  Tokenizer tokenizer = *Tokenizer::create(smallVocabulary());
  Sampler sampler;
  SamplerScratch scratch;

  Held(std::string_view grammar, double temperature)
      : sampler(*Sampler::create({.temperature = temperature, .seed = 5}, kVocabulary,
                                 &tokenizer)) {
    auto made = constrainByGrammar(*grammar::parseGbnf(grammar),
                                   tokenTrieOf(tokenizer, tokenizer.size()), tokenizer);
    EXPECT_TRUE(made.has_value());
    sampler.setConstraint(std::move(*made));
    sampler.begin(std::vector<TokenId>{3, 3});
  }

  // The text of at most `most` tokens by random logits; "|" at its end where an end token came.
  std::string answer(uint32_t seed, size_t most) {
    std::mt19937 random(seed);
    std::string text;
    for (size_t i = 0; i < most; ++i) {
      std::vector<float> logits(kVocabulary);
      for (float &logit : logits)
        logit = static_cast<float>(random() % 1000) / 100;
      const Result<TokenId> token = sampler.sample(logits, scratch);
      EXPECT_TRUE(token.has_value()) << token.error().toString();
      if (!token)
        return text;
      sampler.accept(*token);
      if (*token == kEnd)
        return text + "|";
      text += tokenizer.piece(*token);
    }
    return text;
  }
};

TEST(GrammarConstraint, AnswersMatchWhateverTheLogitsSay) {
  for (const double temperature : {0.0, 1.0, 3.0}) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
      Held held(R"(root ::= "a" ("b" "c"? | "d"){2,3})", temperature);
      EXPECT_THAT(held.answer(seed, 20), testing::MatchesRegex("a(b|bc|d)(b|bc|d)(b|bc|d)?\\|"));
    }
  }
}

TEST(GrammarConstraint, AnEndComesOnlyWhereTheTextMayEnd) {
  Held held(R"(root ::= "abc" "d")", 0);
  EXPECT_EQ(held.answer(3, 20), "abcd|");
}

// Tokens that no text has, such as control tokens, are never chosen, though their logits are great.
TEST(GrammarConstraint, TokensOutsideTheGrammarAreNeverChosen) {
  Held held(R"(root ::= [a-d]*)", 0);
  const std::vector<float> logits = {0, 0, 1, 0, 0, 0, -5, 99, 50};
  EXPECT_EQ(*held.sampler.sample(logits, held.scratch), 2);
}

TEST(GrammarConstraint, AFormThatTheVocabularyCannotWriteIsSaid) {
  Held held(R"(root ::= "x")", 0);
  const Result<TokenId> token = held.sampler.sample(std::vector<float>(kVocabulary), held.scratch);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().code, Code::Unsupported);
  EXPECT_THAT(token.error().message, testing::HasSubstr("leaves no token"));
}

} // namespace
} // namespace sinter
