// Greedy choice.
#include "llm/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sinter {
namespace {

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

} // namespace
} // namespace sinter
