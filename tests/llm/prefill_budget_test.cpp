// How long a prefill step may be beside decode.
#include "llm/prefill_budget.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

// A machine whose prefill step takes a fixed time and a time a token.
double prefillSeconds(uint32_t tokens) {
  return 0.002 + 0.0005 * tokens;
}

TEST(PrefillBudget, TakesTheMostUntilBothPhasesWereMeasured) {
  PrefillBudget budget(32, 512, 1.5);
  EXPECT_EQ(budget.tokens(), 512u);
  budget.addPrefill(512, 1);
  EXPECT_EQ(budget.tokens(), 512u);
  budget.addDecode(0.02);
  EXPECT_LT(budget.tokens(), 512u);
}

TEST(PrefillBudget, TakesTheMostWithoutRatio) {
  PrefillBudget budget(32, 128, 0);
  budget.addPrefill(128, 1);
  budget.addDecode(0.001);
  EXPECT_EQ(budget.tokens(), 128u);
}

TEST(PrefillBudget, ComesToTheRatioOfTimes) {
  PrefillBudget budget(32, 512, 1.5);
  for (int i = 0; i < 40; ++i) {
    budget.addDecode(0.04);
    budget.addPrefill(budget.tokens(), prefillSeconds(budget.tokens()));
  }
  EXPECT_LE(prefillSeconds(budget.tokens()), 1.5 * 0.04);
  EXPECT_GE(prefillSeconds(budget.tokens() + 32), 1.5 * 0.04);
}

TEST(PrefillBudget, KeepsItsBounds) {
  PrefillBudget slow(32, 512, 1.5), fast(32, 512, 1.5), narrow(64, 20, 1.5);
  for (int i = 0; i < 10; ++i) {
    slow.addDecode(0.001), slow.addPrefill(slow.tokens(), 1);
    fast.addDecode(1), fast.addPrefill(fast.tokens(), 0.001);
    narrow.addDecode(0.001), narrow.addPrefill(narrow.tokens(), 1);
  }
  EXPECT_EQ(slow.tokens(), 32u);
  EXPECT_EQ(fast.tokens(), 512u);
  EXPECT_EQ(narrow.tokens(), 64u);
}

TEST(PrefillBudget, FollowsASlowerDecode) {
  PrefillBudget budget(32, 512, 1.5);
  budget.addPrefill(128, 0.064);
  budget.addDecode(0.02);
  const uint32_t before = budget.tokens();
  for (int i = 0; i < 20; ++i)
    budget.addDecode(0.08);
  EXPECT_GT(budget.tokens(), 2 * before);
}

} // namespace
} // namespace sinter
