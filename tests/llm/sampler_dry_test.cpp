// DRY: repetitions against a plain search, sequence breakers, and texts made to be slow.
#include "llm/sampler/sampler.h"

#include "llm/sampler_reference.h"
#include "llm/token_test_data.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::map<TokenId, uint32_t> found(const std::vector<TokenId> &window, size_t mostRun,
                                  size_t leastRun, size_t vocabulary = 100) {
  DryScratch scratch;
  findRepetitions(window, mostRun, leastRun, vocabulary, scratch);
  std::map<TokenId, uint32_t> longest;
  for (const TokenId token : scratch.tokens)
    longest[token] = scratch.longest[static_cast<size_t>(token)];
  return longest;
}

TEST(SamplerDry, TokensGetTheLongestRunThatStandsBeforeThem) {
  // Ends in 1 2 3, which stood before 9 already, and 2 3 before 7.
  EXPECT_THAT(found({1, 2, 3, 9, 2, 3, 7, 1, 2, 3}, 100, 2),
              UnorderedElementsAre(Pair(9, 3), Pair(7, 2)));
  EXPECT_THAT(found({1, 2, 3, 9, 2, 3, 7, 1, 2, 3}, 100, 3), UnorderedElementsAre(Pair(9, 3)));
  EXPECT_THAT(found({1, 2, 3, 9, 2, 3, 7, 1, 2, 3}, 1, 1),
              UnorderedElementsAre(Pair(9, 1), Pair(7, 1)));
}

TEST(SamplerDry, RunsEqualAPlainSearchInRandomWindows) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::vector<TokenId> window(random() % 40);
    const uint32_t alphabet = 1 + random() % 3;
    for (TokenId &token : window)
      token = static_cast<TokenId>(random() % alphabet);
    const size_t mostRun = random() % 3 ? random() % 12 : 1000, leastRun = 1 + random() % 4;
    auto plain = reference::repetitions(window, mostRun);
    std::erase_if(plain, [&](const auto &entry) { return entry.second < leastRun; });
    ASSERT_EQ(found(window, mostRun, leastRun), plain) << "round " << round;
  }
}

TEST(SamplerDry, ShortWindowsHaveNoRepetitions) {
  EXPECT_THAT(found({}, 100, 1), IsEmpty());
  EXPECT_THAT(found({5}, 100, 1), IsEmpty());
  EXPECT_THAT(found({5, 5}, 100, 2), IsEmpty());
  EXPECT_THAT(found({5, 5}, 0, 1), IsEmpty());
}

TEST(SamplerDry, TokensBeyondTheVocabularyArePassedOver) {
  EXPECT_THAT(found({1, 2, 500, 1, 2}, 100, 1, 100), IsEmpty());
  EXPECT_THAT(found({1, 2, -3, 1, 2}, 100, 1, 100), IsEmpty());
}

TEST(SamplerDry, PenaltiesGrowByTheBaseAndStayFinite) {
  const SamplerSettings settings{.dryMultiplier = 0.8, .dryBase = 1.75, .dryAllowedLength = 2};
  EXPECT_FLOAT_EQ(dryPenalty(settings, 2), 0.8f);
  EXPECT_FLOAT_EQ(dryPenalty(settings, 5), 0.8f * 1.75f * 1.75f * 1.75f);
  EXPECT_TRUE(std::isfinite(dryPenalty({.dryMultiplier = 100, .dryBase = 100}, 1u << 31)));
  EXPECT_FLOAT_EQ(dryPenalty({.dryMultiplier = 3, .dryBase = 1}, 100000), 3);
}

// Where a plain search finds that a breaker ends.
bool endsInLastPiece(const std::vector<std::string> &breakers, const std::string &text,
                     size_t pieceBytes) {
  for (const std::string &breaker : breakers)
    for (size_t end = text.size() - pieceBytes + 1; end <= text.size(); ++end)
      if (end >= breaker.size() && text.compare(end - breaker.size(), breaker.size(), breaker) == 0)
        return true;
  return false;
}

TEST(SamplerDry, BreakersAreFoundAcrossPiecesAsInTheWholeText) {
  std::mt19937 random(13);
  const auto randomText = [&](size_t most) {
    std::string text(1 + random() % most, 'a');
    for (char &letter : text)
      letter = static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> breakers;
    for (size_t i = random() % 3 + 1; i > 0; --i)
      breakers.push_back(randomText(6));
    BreakerMatcher matcher(breakers);
    std::string text;
    for (int piece = 0; piece < 30; ++piece) {
      const std::string more = randomText(4);
      text += more;
      ASSERT_EQ(matcher.endsIn(more), endsInLastPiece(breakers, text, more.size())) << text;
    }
  }
}

TEST(SamplerDry, BreakersMayBeOfAnyBytesAndTextsEmpty) {
  const std::vector<std::string> breakers = {std::string("\0\xff", 2)};
  BreakerMatcher matcher(breakers);
  EXPECT_FALSE(matcher.endsIn(""));
  EXPECT_FALSE(matcher.endsIn(std::string_view("\0", 1)));
  EXPECT_TRUE(matcher.endsIn("\xff"));
  matcher.reset();
  EXPECT_FALSE(matcher.endsIn("\xff"));
}

class SamplerDryText : public testing::Test {
protected:
  static constexpr TokenId a = 0, b = 1, c = 2, d = 3, ab = 4, cut = 7;

  // What is subtracted from the logits of the tokens a to d after `history`.
  std::vector<float> subtracted(std::vector<std::string> breakers,
                                const std::vector<TokenId> &history, int64_t window = -1) {
    auto sampler = Sampler::create({.dryMultiplier = 1,
                                    .dryBase = 2,
                                    .dryAllowedLength = 1,
                                    .dryPenaltyLastN = window,
                                    .drySequenceBreakers = std::move(breakers),
                                    .logitBias = {{cut, 1}}}, // so that the row is copied anyway
                                   tokenizer_.size(), &tokenizer_);
    EXPECT_TRUE(sampler.has_value());
    sampler->begin(history);
    SamplerScratch scratch;
    EXPECT_TRUE(sampler->sample(std::vector<float>(tokenizer_.size(), 0.0f), scratch).has_value());
    std::vector<float> letters;
    for (const TokenId letter : {a, b, c, d})
      letters.push_back(-scratch.logits[static_cast<size_t>(letter)]);
    return letters;
  }

  Tokenizer tokenizer_ = *Tokenizer::create(smallVocabulary());
};

TEST_F(SamplerDryText, WithoutBreakersRunsReachBackToTheStart) {
  EXPECT_THAT(subtracted({}, {a, b, c, d, a, b, c}), ElementsAre(0, 0, 0, 4));
  EXPECT_THAT(subtracted({}, {}), ElementsAre(0, 0, 0, 0));
}

TEST_F(SamplerDryText, RunsEndAtABreaker) {
  EXPECT_THAT(subtracted({"a"}, {a, b, c, d, a, b, c}), ElementsAre(0, 0, 0, 2));
  EXPECT_THAT(subtracted({"b"}, {a, b, c, d, a, b, c}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(subtracted({"c"}, {a, b, c, d, a, b, c}), ElementsAre(0, 0, 0, 0));
}

TEST_F(SamplerDryText, BreakersThatSpanTokensCount) {
  EXPECT_THAT(subtracted({"da"}, {a, b, c, d, a, b, c}), ElementsAre(0, 0, 0, 2));
  EXPECT_THAT(subtracted({"bc"}, {a, b, c, d, a, b, c}), ElementsAre(0, 0, 0, 0));
}

TEST_F(SamplerDryText, BreakersWithinATokenCount) {
  EXPECT_THAT(subtracted({"b"}, {ab, c, d, ab, c}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(subtracted({"cut"}, {a, b, c, cut, a, b}), ElementsAre(0, 0, 2, 0));
}

TEST_F(SamplerDryText, TokensThatHoldABreakerAreNotPenalised) {
  EXPECT_THAT(subtracted({"d"}, {a, b, c, d, a, b, c}), ElementsAre(0, 0, 0, 0));
}

TEST_F(SamplerDryText, RunsAreLookedForInTheWindowOnly) {
  const std::vector<TokenId> history = {a, b, c, d, a, b, c};
  EXPECT_THAT(subtracted({}, history, 0), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(subtracted({}, history, 1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(subtracted({}, history, 4), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(subtracted({}, history, 5), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(subtracted({}, history, 6), ElementsAre(0, 0, 0, 2));
  EXPECT_THAT(subtracted({}, history, 100), ElementsAre(0, 0, 0, 4));
}

TEST_F(SamplerDryText, WhatWasAcceptedCountsAsWhatWasGiven) {
  const SamplerSettings settings{.dryMultiplier = 1, .drySequenceBreakers = {"da"}};
  std::mt19937 random(17);
  std::vector<TokenId> history;
  Sampler accepted = *Sampler::create(settings, tokenizer_.size(), &tokenizer_);
  accepted.begin(history);
  for (int i = 0; i < 200; ++i) {
    history.push_back(static_cast<TokenId>(random() % 4));
    accepted.accept(history.back());
    Sampler given = *Sampler::create(settings, tokenizer_.size(), &tokenizer_);
    given.begin(history);
    SamplerScratch one, other;
    const std::vector<float> row(tokenizer_.size(), 0.0f);
    ASSERT_TRUE(accepted.sample(row, one).has_value() && given.sample(row, other).has_value());
    ASSERT_EQ(one.logits, other.logits) << i;
  }
}

// 100,000 tokens each; in time quadratic in the window one of these would take hours.
TEST(SamplerDry, TextsMadeToBeSlowAreNot) {
  constexpr size_t kTokens = 100000;
  const std::function<TokenId(size_t)> texts[] = {
      [](size_t) { return 1; },
      [](size_t i) { return static_cast<TokenId>(i % 2); },
      [](size_t i) { return static_cast<TokenId>(i % 1000 == 999); },
      [](size_t i) { return static_cast<TokenId>(std::popcount(i) % 2); },
      [](size_t i) { return i >= kTokens / 2 ? 1 : static_cast<TokenId>(i == kTokens / 4); },
      [](size_t i) { return i % 2 ? 0 : static_cast<TokenId>(i); }};
  SamplerScratch scratch;
  const std::vector<float> row(2 * kTokens, 0.0f);
  for (const auto &text : texts) {
    std::vector<TokenId> history(kTokens);
    for (size_t i = 0; i < kTokens; ++i)
      history[i] = text(i);
    Sampler sampler = *Sampler::create({.dryMultiplier = 1, .dryBase = 100, .dryAllowedLength = 1},
                                       row.size(), nullptr);
    sampler.begin(history);
    for (int i = 0; i < 20; ++i) {
      const auto token = sampler.sample(row, scratch);
      ASSERT_TRUE(token.has_value());
      sampler.accept(*token);
    }
  }
}

} // namespace
} // namespace sinter
