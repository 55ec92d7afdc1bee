// Greedy choice, and the chain of steps as a whole.
#include "llm/sampler/sampler.h"

#include "llm/sampler_reference.h"
#include "llm/token_test_data.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using reference::Row;
using reference::Tokens;

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Sampler, GreedyTakesTheLargestLogitWhereverItStands) {
  for (size_t at = 0; at < 37; ++at) {
    std::vector<float> logits(37, -1.5f);
    logits[at] = 2.0f;
    EXPECT_EQ(sampleGreedy(logits), static_cast<TokenId>(at));
  }
}

TEST(Sampler, GreedyTakesTheLowestIdAmongEquals) {
  const float logits[] = {-3, 7, 7, 1, 7};
  EXPECT_EQ(sampleGreedy(logits), 1);
}

// Logits are looked through in runs of 1,024.
TEST(Sampler, GreedyTakesTheFirstOfEqualsInManyRuns) {
  for (size_t at : {0, 1023, 1024, 2047, 2999}) {
    std::vector<float> logits(3000, -2.5f);
    logits[at] = logits.back() = -1.0f;
    EXPECT_EQ(sampleGreedy(logits), static_cast<TokenId>(at));
    logits[at] = -0.0f;
    logits.back() = 0.0f;
    EXPECT_EQ(sampleGreedy(logits), static_cast<TokenId>(at)) << "zeros are equal";
  }
}

TEST(Sampler, GreedyTakesTheFirstWhereAllAreMinusInfinity) {
  const float logits[] = {-kInf, -kInf};
  EXPECT_EQ(sampleGreedy(logits), 0);
}

TEST(Sampler, GreedyTakesInfinityForTheLargest) {
  const float logits[] = {3, kInf, 5};
  EXPECT_EQ(sampleGreedy(logits), 1);
}

TEST(Sampler, ANanAnywhereIsAnError) {
  for (size_t at : {0, 1, 2}) {
    float logits[] = {1, 2, 3};
    logits[at] = std::nanf("");
    auto token = sampleGreedy(logits);
    ASSERT_FALSE(token.has_value());
    EXPECT_EQ(token.error().code, Code::Internal);
  }
}

TEST(Sampler, NoLogitsAreAnError) {
  EXPECT_FALSE(sampleGreedy({}).has_value());
}

TEST(Sampler, GreedyTakesTheLargestLogitThatIsNotSuppressed) {
  const float logits[] = {3, 9, 5, 9, 5};
  const auto without = [&](std::vector<TokenId> suppressed) {
    return sampleGreedy(logits, suppressed);
  };
  EXPECT_EQ(without({0}), 1);
  EXPECT_EQ(without({1}), 3);
  EXPECT_EQ(without({1, 3}), 2);
  EXPECT_EQ(without({1, 2, 3, 4}), 0);
  ASSERT_FALSE(without({0, 1, 2, 3, 4}).has_value());
  EXPECT_EQ(without({0, 1, 2, 3, 4}).error().code, Code::Corrupt);
}

// Whatever biases say.
TEST(Sampler, SuppressedTokensAreNeverChosen) {
  VocabularyData data = smallVocabulary();
  data.suppressed = {1, 2};
  const Tokenizer tokenizer = *Tokenizer::create(data);
  const std::vector<float> row = {0, kInf, 9, 1, 2, 0, 0, 0, 0};
  SamplerScratch scratch;
  for (double temperature : {0.0, 1.0, 5.0}) {
    auto sampler = Sampler::create({.temperature = temperature, .logitBias = {{2, 100.0f}}},
                                   row.size(), &tokenizer);
    ASSERT_TRUE(sampler.has_value()) << sampler.error().message;
    for (int i = 0; i < 200; ++i) {
      const auto token = sampler->sample(row, scratch);
      ASSERT_TRUE(token.has_value()) << token.error().message;
      ASSERT_THAT(*token, testing::AllOf(testing::Ne(1), testing::Ne(2))) << temperature;
    }
  }
}

TEST(Sampler, ARowOfSuppressedTokensIsAnError) {
  VocabularyData data = smallVocabulary();
  data.suppressed = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const Tokenizer tokenizer = *Tokenizer::create(data);
  SamplerScratch scratch;
  for (double temperature : {0.0, 1.0}) {
    auto sampler = Sampler::create({.temperature = temperature}, 9, &tokenizer);
    const auto token = sampler->sample(std::vector<float>(9, 1.0f), scratch);
    ASSERT_FALSE(token.has_value());
    EXPECT_EQ(token.error().code, Code::Corrupt);
  }
}

Sampler samplerOf(SamplerSettings settings, size_t vocabulary) {
  auto sampler = Sampler::create(std::move(settings), vocabulary, nullptr);
  EXPECT_TRUE(sampler.has_value()) << sampler.error().message;
  return std::move(*sampler);
}

std::vector<TokenId> drawn(const SamplerSettings &settings, std::span<const float> row,
                           size_t count) {
  Sampler sampler = samplerOf(settings, row.size());
  SamplerScratch scratch;
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < count; ++i) {
    const auto token = sampler.sample(row, scratch);
    EXPECT_TRUE(token.has_value());
    tokens.push_back(token.value_or(-1));
    sampler.accept(tokens.back());
  }
  return tokens;
}

// All steps, said plainly; draws with the same numbers.
class PlainSampler {
public:
  PlainSampler(const SamplerSettings &settings, std::vector<TokenId> history)
      : settings_(settings), history_(std::move(history)), random_(settings.seed),
        mu(2 * settings.mirostatTau) {}

  TokenId sample(const std::vector<float> &row) {
    const Tokens all = reference::tokensOf(adjusted(reference::inDoubles(row)));
    const auto [xtcDraw, tokenDraw] = random_.next();
    const Tokens kept = settings_.temperature == 0
                            ? reference::topK(all, 1)
                            : narrowed(all, xtcDraw < settings_.xtcProbability);
    const std::vector<double> p = reference::softmax(kept);
    size_t chosen = 0;
    for (double sum = p[0]; sum <= tokenDraw && chosen + 1 < p.size(); sum += p[chosen])
      ++chosen;
    mu -= settings_.mirostatEta * (-std::log2(p[chosen]) - settings_.mirostatTau);
    history_.push_back(kept[chosen].id);
    return kept[chosen].id;
  }

private:
  std::vector<double> adjusted(std::vector<double> logits) const {
    for (const LogitBias &bias : settings_.logitBias)
      logits[static_cast<size_t>(bias.token)] += static_cast<double>(bias.bias);
    logits = reference::penalised(std::move(logits), history_, settings_);
    const auto window = reference::lastOf(history_, settings_.dryPenaltyLastN);
    for (const auto &[token, run] : reference::repetitions(window, history_.size()))
      if (run >= settings_.dryAllowedLength)
        logits[static_cast<size_t>(token)] -=
            settings_.dryMultiplier *
            std::pow(settings_.dryBase, run - static_cast<double>(settings_.dryAllowedLength));
    return logits;
  }
  Tokens narrowed(Tokens tokens, bool excludes) const {
    tokens = reference::topK(tokens, settings_.topK ? static_cast<size_t>(settings_.topK) : 1000);
    if (settings_.typicalP < 1)
      tokens = reference::typical(tokens, settings_.typicalP);
    if (settings_.topP < 1)
      tokens = reference::topP(tokens, settings_.topP);
    tokens = reference::minP(tokens, settings_.minP);
    if (excludes)
      tokens = reference::xtc(tokens, settings_.xtcThreshold);
    tokens = reference::divided(tokens, settings_.temperature);
    return settings_.mirostat ? reference::unsurprising(tokens, mu) : tokens;
  }

  SamplerSettings settings_;
  std::vector<TokenId> history_;
  SamplerRandom random_;

public:
  double mu;
};

struct Chain {
  const char *name;
  SamplerSettings settings;
};
std::ostream &operator<<(std::ostream &stream, const Chain &chain) {
  return stream << chain.name;
}

const Chain kChains[] = {
    {"Greedy", {}},
    {"GreedyPenalised", {.repeatPenalty = 1.2, .presencePenalty = 0.3, .repeatLastN = 30}},
    {"GreedyDry", {.dryMultiplier = 0.8}},
    {"Temperature", {.temperature = 0.7}},
    {"Hot", {.temperature = 30}},
    {"TopK", {.temperature = 1, .topK = 7}},
    {"TopP", {.temperature = 1, .topP = 0.8}},
    {"MinP", {.temperature = 1.5, .minP = 0.1}},
    {"Typical", {.temperature = 1, .typicalP = 0.7}},
    {"Xtc", {.temperature = 1, .xtcProbability = 0.4, .xtcThreshold = 0.05}},
    {"Mirostat", {.temperature = 0.9, .mirostat = 2, .mirostatTau = 3}},
    {"MirostatFixed", {.temperature = 1, .mirostat = 2, .mirostatTau = 1.5, .mirostatEta = 0}},
    {"Penalties",
     {.temperature = 1, .repeatPenalty = 1.1, .frequencyPenalty = 0.05, .repeatLastN = -1}},
    {"Dry", {.temperature = 1, .topK = 3, .dryMultiplier = 0.5, .dryAllowedLength = 1}},
    {"Biases", {.temperature = 1, .logitBias = {{0, 3}, {2, -kInf}, {5, -2.5f}}}},
    {"All",
     {.temperature = 0.8,
      .topK = 60,
      .typicalP = 0.97,
      .topP = 0.95,
      .minP = 0.01,
      .xtcProbability = 0.3,
      .xtcThreshold = 0.1,
      .repeatPenalty = 1.1,
      .presencePenalty = 0.1,
      .frequencyPenalty = 0.1,
      .dryMultiplier = 0.8,
      .logitBias = {{1, 0.5}},
      .seed = 99}},
};

class SamplerChain : public testing::TestWithParam<Chain> {
protected:
  static constexpr size_t kVocabulary = 300;
};

TEST_P(SamplerChain, ChoosesWhatAPlainChainChooses) {
  std::mt19937 random(23);
  const std::vector<TokenId> prompt = {5, 6, 7, 5, 6, 7, 5, 6};
  Sampler sampler = samplerOf(GetParam().settings, kVocabulary);
  sampler.begin(prompt);
  PlainSampler plain(GetParam().settings, prompt);
  SamplerScratch scratch;
  for (int i = 0; i < 400; ++i) {
    const auto row = reference::randomRow(i % 3 ? Row::Normal : Row::Peaked, kVocabulary, random);
    const auto token = sampler.sample(row, scratch);
    ASSERT_TRUE(token.has_value());
    ASSERT_EQ(*token, plain.sample(row)) << "token " << i;
    sampler.accept(*token);
    if (GetParam().settings.mirostat != 0) {
      ASSERT_NEAR(sampler.mirostatMu(), plain.mu, 1e-3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chains, SamplerChain, testing::ValuesIn(kChains),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(SamplerChain, EverySeedIsAnotherSequenceAndTheSameOneEachTime) {
  std::mt19937 random(29);
  const auto row = reference::randomRow(Row::Normal, 500, random);
  const auto once = drawn({.temperature = 1, .seed = 7}, row, 50);
  EXPECT_EQ(drawn({.temperature = 1, .seed = 7}, row, 50), once);
  EXPECT_NE(drawn({.temperature = 1, .seed = 8}, row, 50), once);
  EXPECT_NE(drawn({.temperature = 1, .seed = 7 + (uint64_t{1} << 40)}, row, 50), once);
}

// Bits of arithmetic, not only statistics: what these seeds drew when this was written.
TEST(SamplerChain, SeedsDrawTheSameTokensOnEveryMachine) {
  std::vector<float> row(1000);
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = static_cast<float>(i * 37 % 101) / 16;
  EXPECT_THAT(drawn({.temperature = 0.75, .topP = 0.9, .seed = 1}, row, 8),
              testing::ElementsAre(715, 655, 928, 54, 838, 262, 767, 524));
  EXPECT_THAT(drawn({.temperature = 1.25, .typicalP = 0.5, .seed = 2}, row, 8),
              testing::ElementsAre(387, 480, 248, 704, 895, 772, 316, 649));
}

TEST(SamplerChain, MemoryThatOthersUsedDoesNotMatter) {
  std::mt19937 random(31);
  SamplerScratch shared;
  Sampler big = samplerOf({.temperature = 1, .topP = 0.9, .dryMultiplier = 1}, 3000);
  Sampler one = samplerOf({.temperature = 1, .dryMultiplier = 1, .seed = 3}, 200);
  Sampler other = samplerOf({.temperature = 1, .dryMultiplier = 1, .seed = 3}, 200);
  for (int i = 0; i < 50; ++i) {
    const auto row = reference::randomRow(Row::Holes, 200, random);
    ASSERT_TRUE(big.sample(reference::randomRow(Row::Normal, 3000, random), shared).has_value());
    SamplerScratch fresh;
    const auto token = one.sample(row, shared);
    ASSERT_EQ(token.value(), other.sample(row, fresh).value());
    one.accept(*token);
    other.accept(*token);
  }
}

TEST(SamplerChain, AVocabularyOfOneTokenHasOneAnswer) {
  for (const Chain &chain : kChains) {
    SamplerSettings settings = chain.settings;
    settings.logitBias.clear();
    for (const float logit : {0.0f, -3e38f, 3e38f, kInf})
      EXPECT_EQ(drawn(settings, std::vector<float>{logit}, 3), (std::vector<TokenId>{0, 0, 0}))
          << chain.name << " " << logit;
  }
}

TEST(SamplerChain, TheSmallestTemperatureIsStillOne) {
  const std::vector<float> row = {1, 3, 3, 2.9f, -3e38f};
  for (const double temperature : {5e-324, 1e-300, 1e-30, 1e-6})
    for (const TokenId token : drawn({.temperature = temperature}, row, 50))
      EXPECT_TRUE(token == 1 || token == 2) << token << " at " << temperature;
}

TEST(SamplerChain, TokensBeyondTheVocabularyAreNeverChosen) {
  Sampler sampler = samplerOf({}, 3);
  SamplerScratch scratch;
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 2, 1, 9}, scratch), 1);
  const auto tooShort = sampler.sample(std::vector<float>{1, 2}, scratch);
  ASSERT_FALSE(tooShort.has_value());
  EXPECT_EQ(tooShort.error().message, "there are 2 logits, expected one for each of 3 tokens");
}

TEST(SamplerChain, ANanIsAnInternalErrorWhateverTheSettings) {
  for (const Chain &chain : kChains)
    for (const float nan : {std::nanf(""), -std::nanf("")}) {
      Sampler sampler = samplerOf(chain.settings, 10);
      SamplerScratch scratch;
      std::vector<float> row(10, 1.0f);
      row[2] = nan; // which one chain excludes
      const auto token = sampler.sample(row, scratch);
      ASSERT_FALSE(token.has_value()) << chain.name;
      EXPECT_EQ(token.error().code, Code::Internal);
      EXPECT_THAT(token.error().message, testing::HasSubstr("not numbers (NaN)"));
    }
}

TEST(SamplerChain, BiasesThatExcludeAllAreOneClearError) {
  for (const double temperature : {0.0, 1.0}) {
    Sampler sampler =
        samplerOf({.temperature = temperature, .logitBias = {{0, -kInf}, {1, -kInf}}}, 2);
    SamplerScratch scratch;
    const auto token = sampler.sample(std::vector<float>{1, kInf}, scratch);
    ASSERT_FALSE(token.has_value());
    EXPECT_EQ(token.error().code, Code::InvalidArgument);
    EXPECT_EQ(token.error().message,
              "logit biases of -inf leave no token to choose, expected at least one");
  }
}

TEST(SamplerChain, ARowOfMinusInfinityIsAnInternalError) {
  for (const double temperature : {0.0, 1.0}) {
    Sampler sampler = samplerOf({.temperature = temperature}, 2);
    SamplerScratch scratch;
    const auto token = sampler.sample(std::vector<float>{-kInf, -kInf}, scratch);
    ASSERT_FALSE(token.has_value());
    EXPECT_EQ(token.error().code, Code::Internal);
  }
}

TEST(SamplerChain, BeginningAnewForgetsTheHistoryAndMirostatsState) {
  Sampler sampler = samplerOf({.temperature = 1, .presencePenalty = 1, .mirostat = 2}, 10);
  SamplerScratch scratch;
  sampler.begin(std::vector<TokenId>{1, 2, 3});
  ASSERT_TRUE(sampler.sample(std::vector<float>(10, 0.0f), scratch).has_value());
  EXPECT_EQ(scratch.logits[2], -1);
  EXPECT_NE(sampler.mirostatMu(), 10);
  sampler.begin({});
  EXPECT_EQ(sampler.mirostatMu(), 10);
  ASSERT_TRUE(sampler.sample(std::vector<float>(10, 0.0f), scratch).has_value());
  EXPECT_EQ(scratch.logits[2], 0);
}

TEST(SamplerChain, MirostatComesToTheSurpriseItAimsAt) {
  std::mt19937 random(37);
  Sampler sampler = samplerOf({.temperature = 1, .mirostat = 2, .mirostatTau = 4}, 2000);
  SamplerScratch scratch;
  double sum = 0;
  constexpr int kTokens = 2000;
  for (int i = 0; i < kTokens; ++i) {
    const double before = sampler.mirostatMu();
    ASSERT_TRUE(
        sampler.sample(reference::randomRow(Row::Normal, 2000, random), scratch).has_value());
    sum += (before - sampler.mirostatMu()) / 0.1 + 4; // the surprise that was observed
  }
  EXPECT_NEAR(sum / kTokens, 4, 0.1);
}

} // namespace
} // namespace sinter
