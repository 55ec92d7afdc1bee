// Whether tokens are drawn as often as their exact probabilities say. Seeds are fixed, so that a
// test passes always or never.
#include "llm/sampler/sampler.h"

#include "llm/sampler_reference.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

using reference::Row;
using reference::Tokens;

constexpr int kDraws = 100000;

std::map<TokenId, double> probabilities(const Tokens &tokens) {
  const std::vector<double> p = reference::softmax(tokens);
  std::map<TokenId, double> map;
  for (size_t i = 0; i < tokens.size(); ++i)
    map[tokens[i].id] = p[i];
  return map;
}

// Draws without accepting, so that each token has the same distribution.
std::map<TokenId, int> counted(const SamplerSettings &settings, const std::vector<float> &row) {
  Sampler sampler = *Sampler::create(settings, row.size(), nullptr);
  SamplerScratch scratch;
  std::map<TokenId, int> counts;
  for (int i = 0; i < kDraws; ++i)
    ++counts[sampler.sample(row, scratch).value_or(-1)];
  return counts;
}

// Pearson's chi-square within 4 deviations of its mean; tokens that are expected less than 5 times
// count as one. None but the expected tokens may come up.
void expectDrawn(const std::map<TokenId, int> &counts, const std::map<TokenId, double> &expected) {
  double chiSquare = 0, rareExpected = 0, rareCount = 0;
  int bins = 0;
  const auto add = [&](double count, double mean) {
    chiSquare += (count - mean) * (count - mean) / mean;
    ++bins;
  };
  for (const auto &[token, p] : expected) {
    const auto found = counts.find(token);
    const double count = found == counts.end() ? 0 : found->second;
    if (p * kDraws < 5) {
      rareExpected += p * kDraws;
      rareCount += count;
    } else {
      add(count, p * kDraws);
    }
  }
  if (rareExpected >= 1)
    add(rareCount, rareExpected);
  for (const auto &[token, count] : counts)
    EXPECT_TRUE(expected.contains(token)) << "token " << token << " came up " << count << " times";
  const double freedom = bins - 1;
  EXPECT_LE(chiSquare, freedom + 4 * std::sqrt(2 * freedom) + 1e-9) << bins << " bins";
}

std::vector<float> rowOf(size_t size, Row kind = Row::Normal) {
  std::mt19937 random(41);
  return reference::randomRow(kind, size, random);
}
Tokens plainOf(const std::vector<float> &row) {
  return reference::tokensOf(reference::inDoubles(row));
}

TEST(SamplerDistribution, TemperatureAlone) {
  for (const Row kind : reference::kRows)
    for (const double temperature : {0.3, 1.0, 2.5}) {
      const auto row = rowOf(97, kind);
      expectDrawn(counted({.temperature = temperature, .seed = 1}, row),
                  probabilities(reference::divided(plainOf(row), temperature)));
    }
}

TEST(SamplerDistribution, ALargeVocabulary) {
  const auto row = rowOf(5000);
  expectDrawn(counted({.temperature = 1, .seed = 2}, row), probabilities(plainOf(row)));
}

TEST(SamplerDistribution, TopK) {
  for (const int64_t k : {1, 2, 10, 200}) {
    const auto row = rowOf(200);
    expectDrawn(counted({.temperature = 0.8, .topK = k, .seed = 3}, row),
                probabilities(reference::divided(
                    reference::topK(plainOf(row), static_cast<size_t>(k)), 0.8)));
  }
}

TEST(SamplerDistribution, TopP) {
  for (const double mass : {0.0, 0.3, 0.9, 0.999}) {
    const auto row = rowOf(200);
    expectDrawn(counted({.temperature = 1.2, .topP = mass, .seed = 4}, row),
                probabilities(reference::divided(reference::topP(plainOf(row), mass), 1.2)));
  }
}

TEST(SamplerDistribution, MinP) {
  for (const double ratio : {0.01, 0.2, 1.0}) {
    const auto row = rowOf(200);
    expectDrawn(counted({.temperature = 1.2, .minP = ratio, .seed = 5}, row),
                probabilities(reference::divided(reference::minP(plainOf(row), ratio), 1.2)));
  }
}

TEST(SamplerDistribution, Typical) {
  for (const double mass : {0.0, 0.2, 0.95}) {
    const auto row = rowOf(200);
    expectDrawn(counted({.temperature = 1, .typicalP = mass, .seed = 6}, row),
                probabilities(reference::typical(plainOf(row), mass)));
  }
}

TEST(SamplerDistribution, XtcHappensAsOftenAsItsProbabilitySays) {
  const auto row = rowOf(60);
  for (const double probability : {0.0, 0.3, 1.0}) {
    std::map<TokenId, double> expected;
    for (const auto &[token, p] : probabilities(reference::xtc(plainOf(row), 0.05)))
      if (probability > 0)
        expected[token] += probability * p;
    for (const auto &[token, p] : probabilities(plainOf(row)))
      if (probability < 1)
        expected[token] += (1 - probability) * p;
    expectDrawn(
        counted({.temperature = 1, .xtcProbability = probability, .xtcThreshold = 0.05, .seed = 7},
                row),
        expected);
  }
}

TEST(SamplerDistribution, MirostatAtAFixedMu) {
  const auto row = rowOf(200);
  for (const double tau : {0.5, 2.0, 5.0})
    expectDrawn(
        counted({.temperature = 1, .mirostat = 2, .mirostatTau = tau, .mirostatEta = 0, .seed = 8},
                row),
        probabilities(reference::unsurprising(plainOf(row), 2 * tau)));
}

TEST(SamplerDistribution, LogitBiases) {
  const auto row = rowOf(30);
  auto biased = reference::inDoubles(row);
  biased[3] += 2;
  biased[7] = -reference::kInf;
  expectDrawn(counted({.temperature = 1,
                       .logitBias = {{3, 2}, {7, -std::numeric_limits<float>::infinity()}},
                       .seed = 9},
                      row),
              probabilities(reference::tokensOf(biased)));
}

TEST(SamplerDistribution, Penalties) {
  const auto row = rowOf(30);
  const std::vector<TokenId> history = {1, 2, 2, 5, 9, 9, 9};
  const SamplerSettings settings{.temperature = 1,
                                 .repeatPenalty = 1.5,
                                 .presencePenalty = 0.5,
                                 .frequencyPenalty = 0.2,
                                 .repeatLastN = 6,
                                 .seed = 10};
  Sampler sampler = *Sampler::create(settings, row.size(), nullptr);
  sampler.begin(history);
  SamplerScratch scratch;
  std::map<TokenId, int> counts;
  for (int i = 0; i < kDraws; ++i)
    ++counts[sampler.sample(row, scratch).value_or(-1)];
  expectDrawn(counts, probabilities(reference::tokensOf(
                          reference::penalised(reference::inDoubles(row), history, settings))));
}

TEST(SamplerDistribution, AllStepsTogether) {
  const auto row = rowOf(300);
  Tokens kept = reference::topK(plainOf(row), 100);
  kept = reference::typical(kept, 0.98);
  kept = reference::topP(kept, 0.9);
  kept = reference::divided(reference::minP(kept, 0.02), 0.7);
  expectDrawn(counted({.temperature = 0.7,
                       .topK = 100,
                       .typicalP = 0.98,
                       .topP = 0.9,
                       .minP = 0.02,
                       .seed = 11},
                      row),
              probabilities(kept));
}

} // namespace
} // namespace sinter
