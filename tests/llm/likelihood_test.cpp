// Rows of logits against a token and against one another.
#include "llm/likelihood.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace sinter {
namespace {

TEST(Likelihood, OfEvenLogitsIsThatOfTheVocabulary) {
  std::vector<float> logits(997, 0.0f);
  logits[5] = 1;
  EXPECT_NEAR(negativeLogLikelihood(logits, 5), std::log(996 + std::exp(1.0)) - 1, 1e-12);
  EXPECT_NEAR(negativeLogLikelihood(logits, 6), std::log(996 + std::exp(1.0)), 1e-12);
}

TEST(Likelihood, OfLargeLogitsDoesNotOverflow) {
  const std::vector<float> logits = {1000, 1001, -1000};
  EXPECT_NEAR(negativeLogLikelihood(logits, 1), std::log1p(std::exp(-1.0)), 1e-12);
}

TEST(Likelihood, DivergenceIsThatOfTheDefinition) {
  const std::vector<float> even = {2, 2}, odd = {std::log(3.0f), 0};
  EXPECT_NEAR(divergence(even, even), 0, 1e-15);
  EXPECT_NEAR(divergence(even, odd), 0.5 * std::log(0.5 / 0.75) + 0.5 * std::log(0.5 / 0.25), 1e-7);
  EXPECT_NEAR(divergence(odd, even), 0.75 * std::log(0.75 / 0.5) + 0.25 * std::log(0.25 / 0.5),
              1e-7);
}

} // namespace
} // namespace sinter
