// Tokens chosen from the largest logits of a row are those chosen from all of it.
#include "llm/sampler/sampler.h"

#include "llm/token_test_data.h"
#include "llm/top_of.h"

#include <gmock/gmock.h>

#include <random>

namespace sinter {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

class Dice {
public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  // From `least` to `most`.
  int64_t operator()(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  bool oneIn(int64_t count) { return (*this)(1, count) == 1; }
  template <class T> T oneOf(std::initializer_list<T> values) {
    return values.begin()[(*this)(0, static_cast<int64_t>(values.size()) - 1)];
  }

private:
  std::mt19937 random_;
};

// Allows what a mask says, whatever came before.
class FixedMask : public TokenConstraint {
public:
  explicit FixedMask(TokenMask mask) : mask_(std::move(mask)) {}
  Result<std::span<const uint64_t>> allowed() override { return std::span<const uint64_t>(mask_); }
  Result<void> accept(TokenId) override { return {}; }

private:
  TokenMask mask_;
};

// Numbers with many ties, zeros of both signs, and seldom what no model should give.
std::vector<float> randomRow(Dice &dice, size_t length) {
  std::vector<float> row(length);
  const float step = dice.oneOf({0.001f, 0.25f, 2.0f});
  for (float &logit : row)
    logit = static_cast<float>(dice(-4000, 4000)) / 4000 * dice.oneOf({1.0f, 8.0f});
  for (float &logit : row)
    logit = dice.oneIn(20) ? -0.0f : std::round(logit / step) * step;
  for (size_t i = 0; dice.oneIn(3) && i < length; i += 2)
    row[i] = -kInf;
  if (dice.oneIn(30))
    row[dice(0, static_cast<int64_t>(length) - 1)] = dice.oneOf({kInf, std::nanf("")});
  return row;
}

SamplerSettings randomSettings(Dice &dice, int64_t vocabulary) {
  SamplerSettings s;
  s.seed = static_cast<uint64_t>(dice(0, 1 << 30));
  s.temperature = dice.oneOf({0.0, 0.3, 1.0, 2.0});
  s.topK = dice.oneOf<int64_t>({0, 1, 3, 10, 40});
  s.topP = dice.oneOf({1.0, 0.9, 0.5});
  s.minP = dice.oneOf({0.0, 0.05, 0.4});
  s.typicalP = dice.oneOf({1.0, 1.0, 0.7});
  s.xtcProbability = dice.oneOf({0.0, 0.0, 0.5});
  if (dice.oneIn(3)) {
    s.repeatPenalty = dice.oneOf({1.0, 1.3, 1.3, 0.8});
    s.presencePenalty = dice.oneOf({0.0, 0.5, 0.5, -0.5});
    s.frequencyPenalty = dice.oneOf({0.0, 0.2});
    s.repeatLastN = dice.oneOf<int64_t>({-1, 8, 64});
  }
  if (dice.oneIn(4))
    s.dryMultiplier = 0.8;
  for (TokenId token = 0; dice.oneIn(4) && token < std::min<int64_t>(vocabulary, 20); token += 3)
    s.logitBias.push_back({token, dice.oneOf({-kInf, -2.0f, -2.0f, 1.5f})});
  if (s.temperature > 0 && dice.oneIn(10)) {
    s.turnOffCandidateSteps();
    s.mirostat = 2;
  }
  return s;
}

// What sample() gives, as text.
std::string said(const Result<TokenId> &token) {
  return token ? std::to_string(*token) : token.error().message;
}

struct Pair {
  Sampler ofAll, ofTop;
  int decided = 0, asked = 0;

  void begin(std::span<const TokenId> history) {
    ofAll.begin(history);
    ofTop.begin(history);
  }
  void choose(const std::vector<float> &row, size_t count, SamplerScratch &scratch) {
    TopOfRows top;
    top.set(row, row.size(), count);
    auto chosen = ofTop.sampleTop({top.logits, top.tokens, row.size()}, scratch);
    ASSERT_TRUE(chosen.has_value()) << chosen.error().message;
    ++asked;
    decided += chosen->has_value();
    const Result<TokenId> found = *chosen ? Result<TokenId>(**chosen) : ofTop.sample(row, scratch);
    const Result<TokenId> expected = ofAll.sample(row, scratch);
    ASSERT_EQ(said(found), said(expected)) << (*chosen ? "decided" : "read");
    ASSERT_EQ(ofTop.mirostatMu(), ofAll.mirostatMu());
    if (!expected)
      return;
    ofAll.accept(*expected);
    ofTop.accept(*expected);
  }
};

std::shared_ptr<TokenConstraint> randomConstraint(Dice &dice, size_t vocabulary) {
  TokenMask mask(vocabulary / 64 + 1);
  const int64_t rare = dice.oneOf<int64_t>({1, 2, 10});
  for (size_t token = 0; token < vocabulary; ++token)
    mask[token / 64] |= uint64_t{dice.oneIn(rare)} << token % 64;
  return std::make_shared<FixedMask>(std::move(mask));
}

// All settings, rows shorter than what is known of them and longer than the vocabulary.
TEST(SamplerTop, ChoosesWhatAllLogitsChoose) {
  VocabularyData data = smallVocabulary();
  const Tokenizer tokenizer = *Tokenizer::create(data);
  data.suppressed = {1, 2, 5};
  const Tokenizer suppressing = *Tokenizer::create(data);
  SamplerScratch scratch;
  int decided = 0, asked = 0;
  for (uint32_t round = 0; round < 1500 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Dice dice(round);
    const int64_t vocabulary = dice(1, 150), length = vocabulary + dice(0, 1) * dice(0, 10);
    const auto count = static_cast<size_t>(dice(1, std::min<int64_t>(length, 60)));
    auto sampler =
        Sampler::create(randomSettings(dice, vocabulary), static_cast<size_t>(vocabulary),
                        dice.oneIn(3) ? &suppressing : &tokenizer);
    ASSERT_TRUE(sampler.has_value()) << sampler.error().message;
    Pair pair{*sampler, *sampler};
    if (dice.oneIn(4)) {
      const auto constraint = randomConstraint(dice, static_cast<size_t>(vocabulary));
      pair.ofAll.setConstraint(constraint);
      pair.ofTop.setConstraint(constraint);
    }
    std::vector<TokenId> history(static_cast<size_t>(dice(0, 30)));
    for (TokenId &token : history)
      token = static_cast<TokenId>(dice(0, vocabulary - 1));
    pair.begin(history);
    for (int i = 0; i < 6 && !testing::Test::HasFailure(); ++i)
      pair.choose(randomRow(dice, static_cast<size_t>(length)), count, scratch);
    decided += pair.decided;
    asked += pair.asked;
  }
  EXPECT_GT(decided, asked / 4);
  EXPECT_GT(asked - decided, asked / 10);
}

// Descending with the token, so that the largest of a row are its first tokens.
std::vector<float> slope(size_t length, float step) {
  std::vector<float> row(length);
  for (size_t i = 0; i < length; ++i)
    row[i] = 10 - step * static_cast<float>(i);
  return row;
}

class SamplerTopOf128 : public testing::Test {
protected:
  std::optional<TokenId> choose(const SamplerSettings &settings, const std::vector<float> &row,
                                std::vector<TokenId> history = {}) {
    auto sampler = Sampler::create(settings, row.size(), nullptr);
    EXPECT_TRUE(sampler.has_value()) << sampler.error().message;
    sampler->begin(history);
    TopOfRows top;
    top.set(row, row.size(), 128);
    const auto chosen = sampler->sampleTop({top.logits, top.tokens, row.size()}, scratch_);
    EXPECT_TRUE(chosen.has_value());
    return chosen.value_or(std::nullopt);
  }
  SamplerScratch scratch_;
};

TEST_F(SamplerTopOf128, DecidesTheUsualSettings) {
  const std::vector<float> row = slope(5000, 0.01f);
  EXPECT_EQ(choose({}, row), 0);
  const SamplerSettings usual = {.temperature = 0.8, .topK = 40, .topP = 0.95, .minP = 0.05};
  EXPECT_TRUE(choose(usual, row));
  EXPECT_TRUE(choose({.temperature = 1, .topK = 128}, row));
  EXPECT_TRUE(choose({.temperature = 1, .minP = 0.5}, row));
}

TEST_F(SamplerTopOf128, DecidesWhereAllRecentTokensArePenalised) {
  std::vector<TokenId> history(64);
  std::iota(history.begin(), history.end(), 0);
  SamplerSettings settings = {.temperature = 0.8, .topK = 40, .repeatPenalty = 2};
  EXPECT_TRUE(choose(settings, slope(5000, 0.01f), history));
  settings.temperature = 0;
  EXPECT_EQ(choose(settings, slope(5000, 0.01f), history), 64);
}

TEST_F(SamplerTopOf128, DoesNotDecideWhatOtherLogitsCouldChange) {
  const std::vector<float> row = slope(5000, 0.01f);
  EXPECT_FALSE(choose({.temperature = 1}, row));
  EXPECT_FALSE(choose({.temperature = 1, .topK = 129}, row));
  EXPECT_FALSE(choose({.temperature = 1, .topP = 0.9}, row));
  EXPECT_FALSE(choose({.temperature = 1, .minP = 0.01}, row));
  EXPECT_FALSE(choose({.logitBias = {{4000, 100.0f}}}, row));
  EXPECT_FALSE(choose({.temperature = 1, .topK = 40, .presencePenalty = -1}, row, {4000}));
}

// Of equal logits the lower tokens are known.
TEST_F(SamplerTopOf128, DecidesAmongTies) {
  const std::vector<float> row(5000, 1.0f);
  EXPECT_EQ(choose({}, row), 0);
  EXPECT_TRUE(choose({.temperature = 1, .topK = 128}, row));
  EXPECT_FALSE(choose({.temperature = 1, .minP = 0.9}, row));
}

TEST_F(SamplerTopOf128, LeavesRowsThatAreNoNumbersToSample) {
  for (const float odd : {kInf, std::nanf("")}) {
    std::vector<float> row = slope(5000, 0.01f);
    row[4321] = odd;
    EXPECT_FALSE(choose({}, row));
    EXPECT_FALSE(choose({.temperature = 1, .topK = 1}, row));
    TopOfRows top;
    top.set(row, row.size(), 1);
    EXPECT_FALSE(sampleGreedyOfTop({top.logits, top.tokens, row.size()}));
  }
}

TEST(SamplerTop, GreedyTakesTheFirstThatIsNotSuppressed) {
  const std::vector<float> logits = {9, 9, 5};
  const std::vector<TokenId> tokens = {3, 7, 1};
  const TopLogits top{logits, tokens, 10};
  EXPECT_EQ(sampleGreedyOfTop(top), 3);
  EXPECT_EQ(sampleGreedyOfTop(top, std::vector<TokenId>{3}), 7);
  EXPECT_EQ(sampleGreedyOfTop(top, std::vector<TokenId>{1, 3, 7}), std::nullopt);
}

} // namespace
} // namespace sinter
