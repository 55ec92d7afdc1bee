// How prompts share the rows of a step.
#include "llm/prefill_shares.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PrefillSharesTest : public testing::Test {
protected:
  std::vector<uint32_t> share(const std::vector<uint32_t> &left, uint32_t budget,
                              uint32_t chunk = 1) {
    const auto given = shares.share(left, budget, chunk);
    return {given.begin(), given.end()};
  }
  PrefillShares shares;
};

TEST_F(PrefillSharesTest, OnePromptHasAllRows) {
  EXPECT_THAT(share({100}, 8), ElementsAre(8));
  EXPECT_THAT(share({5}, 8), ElementsAre(5));
}

TEST_F(PrefillSharesTest, TheOldestHasHalfAndTheShortestTheOtherHalf) {
  EXPECT_THAT(share({100, 50, 3, 20}, 16), ElementsAre(8, 0, 3, 5));
}

TEST_F(PrefillSharesTest, TheOldestHasTheLargerHalf) {
  EXPECT_THAT(share({100, 100}, 7), ElementsAre(4, 3));
  EXPECT_THAT(share({100, 100}, 1), ElementsAre(1, 0));
}

TEST_F(PrefillSharesTest, WhatTheOthersLeaveIsTheOldests) {
  EXPECT_THAT(share({100, 2}, 16), ElementsAre(14, 2));
}

TEST_F(PrefillSharesTest, WhatTheOldestLeavesIsTheOthers) {
  EXPECT_THAT(share({2, 9, 9}, 16), ElementsAre(2, 9, 5));
}

TEST_F(PrefillSharesTest, TheOlderComesFirstAmongEquals) {
  EXPECT_THAT(share({9, 4, 4, 4}, 8), ElementsAre(4, 4, 0, 0));
}

TEST_F(PrefillSharesTest, PromptsAreCutBetweenChunks) {
  EXPECT_THAT(share({100, 50, 3, 20}, 64, 16), ElementsAre(32, 0, 3, 20));
  EXPECT_THAT(share({100, 50, 3}, 64, 16), ElementsAre(32, 16, 3));
  EXPECT_THAT(share({100, 10}, 63, 16), ElementsAre(48, 10));
}

TEST_F(PrefillSharesTest, TheOldestHasAChunkAtLeast) {
  EXPECT_THAT(share({100, 9}, 16, 16), ElementsAre(16, 0));
  EXPECT_THAT(share({100, 9}, 25, 16), ElementsAre(16, 9));
}

TEST_F(PrefillSharesTest, NoPrefillsShareNothing) {
  EXPECT_THAT(share({}, 8), IsEmpty());
}

} // namespace
} // namespace sinter
