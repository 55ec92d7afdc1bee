// Answers that are held to a grammar match it, whatever the logits say and whoever shares it.
#include "llm/grammar_forms.h"

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
      : sampler(
            *Sampler::create({.temperature = temperature, .seed = 5}, kVocabulary, &tokenizer)) {
    auto made = GrammarForm::create(*grammar::parseGbnf(grammar),
                                    tokenTrieOf(tokenizer, tokenizer.size()), tokenizer);
    EXPECT_TRUE(made.has_value());
    sampler.setConstraint((*made)->constrain());
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

struct Shared {
  Tokenizer tokenizer = *Tokenizer::create(smallVocabulary());
  std::shared_ptr<const grammar::TokenTrie> trie = tokenTrieOf(tokenizer, kVocabulary);
  std::shared_ptr<GrammarForm> form(std::string_view text) {
    auto made = GrammarForm::create(*grammar::parseGbnf(text), trie, tokenizer);
    EXPECT_TRUE(made.has_value());
    return *made;
  }
};

uint64_t maskOf(TokenConstraint &constraint) {
  const auto bits = constraint.allowed();
  EXPECT_TRUE(bits.has_value());
  return bits ? bits->front() : 0;
}

TEST(GrammarForm, AnswersShareItAndEachHasItsOwnPlace) {
  Shared shared;
  const auto form = shared.form(R"(root ::= "ab" | "cd")");
  const auto one = form->constrain(), other = form->constrain();
  ASSERT_TRUE(one->accept(0));   // "a"
  ASSERT_TRUE(other->accept(2)); // "c"
  EXPECT_EQ(maskOf(*one), uint64_t{1} << 1);
  EXPECT_EQ(maskOf(*other), uint64_t{1} << 3);
  EXPECT_FALSE(one->accept(2));
}

// An answer of so many states fits alone, but not beside another's.
TEST(GrammarForm, WhatOthersTookOfItEndsNoAnswer) {
  Shared shared;
  const auto form = shared.form(R"(root ::= "a" root "b" | "c" root "d" | "ab")");
  for (uint32_t seed = 0; seed < 2; ++seed) {
    std::mt19937 random(seed);
    const auto constraint = form->constrain();
    for (int i = 0; i < 12'000; ++i) {
      const auto accepted = constraint->accept(random() % 2 ? 0 : 2);
      ASSERT_TRUE(accepted) << i << accepted.error().toString();
    }
    ASSERT_TRUE(constraint->accept(2));
    EXPECT_EQ(maskOf(*constraint), 0b10101u) << seed; // "a", "c" and "ab"
  }
  EXPECT_TRUE(form->isWorn());
}

// The one whose grammar is large ends, and the others go on.
TEST(GrammarForm, TheGrammarsOfAllAnswersHaveABudget) {
  Shared shared;
  const auto budget = std::make_shared<GrammarBudget>(size_t{1} << 20, size_t{1} << 18);
  const auto make = [&] {
    return *GrammarForm::create(*grammar::parseGbnf(R"(root ::= "a" root "b" | "ab")"), shared.trie,
                                shared.tokenizer, budget);
  };
  const auto grow = [](TokenConstraint &constraint, int most) {
    Result<void> accepted = {};
    for (int i = 0; i < most && accepted; ++i)
      accepted = constraint.accept(0);
    return accepted;
  };
  auto large = make()->constrain();
  const auto small = make()->constrain();
  const auto ended = grow(*large, 20'000);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::Exhausted);
  EXPECT_THAT(ended.error().message, testing::HasSubstr("expected at most 1048576"));
  EXPECT_TRUE(grow(*small, 10));
  const size_t before = budget->bytes;
  large.reset();
  EXPECT_LT(budget->bytes, before / 2);
  EXPECT_TRUE(grow(*make()->constrain(), 100));
}

// A part at a time, until it is there, and the same as at once.
TEST(GrammarForm, AMaskOfMuchWorkIsMadeInParts) {
  Shared shared;
  const char *text = R"(root ::= ("a"? "b"? "c"? "d"?){0,3000} "abcd")";
  const auto whole = shared.form(text)->constrain(), parts = shared.form(text)->constrain();
  int count = 1;
  for (Result<bool> isDone = parts->prepare(); !*isDone; isDone = parts->prepare()) {
    ASSERT_TRUE(isDone);
    ASSERT_LT(++count, 20);
  }
  EXPECT_GT(count, 1);
  EXPECT_EQ(maskOf(*parts), maskOf(*whole));
}

TEST(GrammarForm, DraftsTheTextThatIsForced) {
  Shared shared;
  const auto constraint = shared.form(R"(root ::= [ab] "abcd" "c" [ab])")->constrain();
  EXPECT_TRUE(constraint->draft()->tokens.empty());
  ASSERT_TRUE(constraint->accept(0));
  const Draft draft = *constraint->draft();
  EXPECT_THAT(draft.tokens, testing::ElementsAre(5, 3, 2)); // "abc", "d", "c"
  for (size_t i = 0; i < draft.tokens.size(); ++i) {
    ASSERT_TRUE(constraint->accept(draft.tokens[i]));
    EXPECT_EQ(maskOf(*constraint), draft.masks[i].front());
  }
}

TEST(GrammarForms, KeepThoseThatWereAskedForLast) {
  Shared shared;
  const auto form = shared.form(R"(root ::= "ab")");
  GrammarForms forms(3 * (form->bytes() + 1));
  for (const char *text : {"1", "2", "3"})
    forms.add(text, shared.form(R"(root ::= "ab")"));
  EXPECT_EQ(forms.count(), 3u);
  EXPECT_TRUE(forms.find("1"));
  forms.add("4", form);
  EXPECT_EQ(forms.find("4"), form);
  EXPECT_TRUE(forms.find("1"));
  EXPECT_FALSE(forms.find("2"));
  EXPECT_EQ(forms.dropped(), 1u);
  EXPECT_EQ(forms.bytes(), 3 * (form->bytes() + 1));
  EXPECT_EQ(forms.count(), 3u);
}

TEST(GrammarForms, AreFoundByTheNamesOfTheirRequests) {
  Shared shared;
  GrammarForms forms;
  const auto form = shared.form(R"(root ::= "ab")");
  forms.add("text", form);
  EXPECT_FALSE(forms.findNamed("request"));
  forms.name("request", "text");
  forms.name("another", "text");
  EXPECT_EQ(forms.findNamed("request"), form);
  for (size_t i = 0; i < GrammarForms::kMostNames - 1; ++i)
    forms.name("more " + std::to_string(i), "text");
  EXPECT_TRUE(forms.findNamed("request"));
  EXPECT_FALSE(forms.findNamed("another"));
  forms.name("request", "gone");
  EXPECT_FALSE(forms.findNamed("request"));
}

// Hostile patterns come one after the other, and each is used.
TEST(GrammarForms, StayWithinTheirBytes) {
  Shared shared;
  const size_t most = size_t{1} << 20;
  GrammarForms forms(most);
  for (int i = 0; i < 200; ++i) {
    const std::string text = "root ::= (\"a\" | [b-d]){" + std::to_string(i) + ",2000} \"abcd\"";
    const auto form = shared.form(text.c_str());
    forms.add(text, form);
    const auto constraint = form->constrain();
    for (int token = 0; token < 100; ++token)
      ASSERT_TRUE(constraint->accept(0));
    size_t bytes = 0;
    for (int j = 0; j <= i; ++j)
      if (const auto known =
              forms.find("root ::= (\"a\" | [b-d]){" + std::to_string(j) + ",2000} \"abcd\""))
        bytes += known->bytes();
    ASSERT_LE(bytes, most);
  }
  EXPECT_LT(forms.count(), 200u);
}

} // namespace
} // namespace sinter
