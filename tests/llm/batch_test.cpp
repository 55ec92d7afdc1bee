// Ragged batches, as the plan's inputs want them.
#include "llm/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace sinter {
namespace {

using testing::ElementsAre;

constexpr BatchShape kShape{4, 3, 100};

struct TwoSequences {
  TwoSequences() : pool(*PagePool::createInOrder(kOrder, 4)), first(pool), second(pool) {
    EXPECT_TRUE(first.reserve(7).has_value());
    EXPECT_TRUE(second.reserve(2).has_value());
  }
  static constexpr PageId kOrder[] = {{3}, {1}, {0}, {2}};
  PagePool pool;
  SequencePages first, second;
  std::vector<TokenId> firstTokens = {10, 11, 12, 13, 14}, secondTokens = {20};
  std::vector<BatchPart> parts = {{firstTokens, 2, &first, LogitsWanted::Last},
                                  {secondTokens, 1, &second, LogitsWanted::Last}};
};

TEST(Batch, TokensOfAllSequencesFollowOneAnotherWithTheirOwnPositions) {
  TwoSequences two;
  Batch batch;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_THAT(batch.tokens, ElementsAre(10, 11, 12, 13, 14, 20));
  EXPECT_THAT(batch.positions, ElementsAre(2, 3, 4, 5, 6, 1));
}

TEST(Batch, SlotsLieInThePagesOfEachSequence) {
  TwoSequences two;
  Batch batch;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_THAT(batch.kv[0].slots, ElementsAre(14, 15, 4, 5, 6, 1));
}

TEST(Batch, ThePageTableHasOnePaddedRowForEachSequence) {
  TwoSequences two;
  Batch batch;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_EQ(batch.pagesPerSequence, 3u);
  EXPECT_THAT(batch.kv[0].pageTable, ElementsAre(3, 1, 0, 0, 0, 0));
}

TEST(Batch, ThePageTableOfALongContextIsAsWideAsItsLongestSequenceNeeds) {
  constexpr BatchShape kLong{4, 300, 100};
  constexpr std::pair<uint32_t, uint32_t> kWidths[] = {
      {1, 128}, {128 * 4, 128}, {128 * 4 + 1, 256}, {256 * 4, 256}, {256 * 4 + 1, 300}};
  for (const auto &[rows, width] : kWidths) {
    PagePool pool = *PagePool::create(302, 4);
    SequencePages first(pool), second(pool);
    ASSERT_TRUE(first.reserve(5) && second.reserve(rows));
    const std::vector<TokenId> token = {1};
    Batch batch;
    const std::vector<BatchPart> parts = {{token, 4, &first}, {token, rows - 1, &second}};
    ASSERT_TRUE(buildBatch(parts, kLong, batch));
    EXPECT_EQ(batch.pagesPerSequence, width) << rows << " rows";
    ASSERT_EQ(batch.kv[0].pageTable.size(), 2 * width);
    EXPECT_EQ(batch.kv[0].pageTable[1], static_cast<int32_t>(first.page(1).index));
    EXPECT_EQ(batch.kv[0].pageTable[width + (rows - 1) / 4],
              static_cast<int32_t>(second.page((rows - 1) / 4).index));
  }
}

TEST(Batch, LengthsCountTheTokensOfThisStep) {
  TwoSequences two;
  Batch batch;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_THAT(batch.kvLengths, ElementsAre(7, 2));
}

TEST(Batch, AttentionBlocksHoldAtMostQueryBlockTokensOfOneSequence) {
  TwoSequences two;
  Batch batch;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_THAT(batch.blocks, ElementsAre(0, 0, 4, 0, 4, 1, 1, 5, 1));
}

TEST(Batch, TheLongestCountsWhereRowsAreSingleAlone) {
  auto pool = PagePool::create(4, 64);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(200).has_value());
  const std::vector<TokenId> tokens(9, 1);
  auto longest = [&](size_t count, LogitsWanted logits) {
    const BatchPart part{std::span(tokens).first(count), 100, &pages, logits};
    Batch batch;
    EXPECT_TRUE(buildBatch({&part, 1}, {4, 64, 2}, batch).has_value());
    return longestOf(batch, batch.logitRows);
  };
  EXPECT_EQ(longest(1, LogitsWanted::Last), 128);
  EXPECT_EQ(longest(1, LogitsWanted::None), 128);
  EXPECT_EQ(longest(9, LogitsWanted::Last), 128);
  EXPECT_EQ(longest(9, LogitsWanted::All), 0);
  EXPECT_EQ(longest(9, LogitsWanted::None), 0);
}

TEST(Batch, BlocksCoverEachTokenOnceAtLengthsAroundTheBlock) {
  auto pool = PagePool::create(4, 64);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(200).has_value());
  for (size_t length : {1, 3, 4, 5, 7, 8, 9, 31}) {
    const std::vector<TokenId> tokens(length, 1);
    const BatchPart part{tokens, 3, &pages, LogitsWanted::None};
    Batch batch;
    ASSERT_TRUE(buildBatch({&part, 1}, {4, 4, 2}, batch).has_value());
    int32_t next = 0;
    for (int64_t block = 0; block < batch.blockCount(); ++block) {
      EXPECT_EQ(batch.blocks[block * 3 + 1], next);
      EXPECT_LE(batch.blocks[block * 3 + 2], 4);
      next += batch.blocks[block * 3 + 2];
    }
    EXPECT_EQ(next, static_cast<int32_t>(length));
  }
}

TEST(Batch, LogitRowsAreTheLastTokenOrAllOrNone) {
  TwoSequences two;
  two.parts[0].logits = LogitsWanted::All;
  Batch batch;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_THAT(batch.logitRows.tokens, ElementsAre(0, 1, 2, 3, 4, 5));
  two.parts[0].logits = LogitsWanted::None;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_THAT(batch.logitRows.tokens, ElementsAre(5));
}

TEST(Batch, LogitRowsHavePositionsAndAttentionBlocksOfTheirOwn) {
  TwoSequences two;
  Batch batch;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_THAT(batch.logitRows.positions, ElementsAre(6, 1));
  EXPECT_THAT(batch.logitRows.blocks, ElementsAre(0, 0, 1, 1, 1, 1));
  two.parts[0].logits = LogitsWanted::All;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  EXPECT_THAT(batch.logitRows.positions, ElementsAre(2, 3, 4, 5, 6, 1));
  EXPECT_THAT(batch.logitRows.blocks, ElementsAre(0, 0, 4, 0, 4, 1, 1, 5, 1));
}

TEST(Batch, AReusedBatchKeepsNothingOfTheFormerOne) {
  TwoSequences two;
  Batch batch, fresh;
  ASSERT_TRUE(buildBatch(two.parts, kShape, batch).has_value());
  const std::span<const BatchPart> second(&two.parts[1], 1);
  ASSERT_TRUE(buildBatch(second, kShape, batch).has_value());
  ASSERT_TRUE(buildBatch(second, kShape, fresh).has_value());
  EXPECT_EQ(batch.tokens, fresh.tokens);
  EXPECT_EQ(batch.kv[0].pageTable, fresh.kv[0].pageTable);
  EXPECT_EQ(batch.blocks, fresh.blocks);
  EXPECT_EQ(batch.logitRows.tokens, fresh.logitRows.tokens);
  EXPECT_EQ(batch.logitRows.positions, fresh.logitRows.positions);
  EXPECT_EQ(batch.logitRows.blocks, fresh.logitRows.blocks);
}

struct Refusal {
  const char *what;
  void (*spoil)(TwoSequences &);
  const char *message;
};

class BatchRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(BatchRefusal, SaysWhatWasFoundAndLeavesTheBatchEmpty) {
  TwoSequences two;
  GetParam().spoil(two);
  Batch batch;
  auto built = buildBatch(two.parts, kShape, batch);
  ASSERT_FALSE(built.has_value());
  EXPECT_EQ(built.error().code, Code::InvalidArgument);
  EXPECT_EQ(built.error().message, GetParam().message);
  EXPECT_EQ(batch.tokenCount(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Batch, BatchRefusal,
    testing::Values(
        Refusal{"NoTokens", [](TwoSequences &two) { two.parts[1].tokens = {}; },
                "sequence 1 of the batch has no tokens"},
        Refusal{"NegativeToken", [](TwoSequences &two) { two.firstTokens[3] = -1; },
                "sequence 0 of the batch has token -1, expected one below 100"},
        Refusal{"TokenBeyondVocabulary", [](TwoSequences &two) { two.secondTokens[0] = 100; },
                "sequence 1 of the batch has token 100, expected one below 100"},
        Refusal{"PagesDoNotReach", [](TwoSequences &two) { two.parts[0].position = 4; },
                "sequence 0 of the batch reaches position 9, its pages hold 8"},
        Refusal{"PositionOverflows", [](TwoSequences &two) { two.parts[0].position = UINT32_MAX; },
                "sequence 0 of the batch reaches position 4294967300, its pages hold 8"},
        Refusal{"TableTooNarrow",
                [](TwoSequences &two) {
                  two.second.shrink(0);
                  ASSERT_TRUE(two.first.reserve(16).has_value());
                  two.parts.pop_back();
                },
                "sequence 0 of the batch has 4 pages, expected at most 3"},
        Refusal{"SeveralGeneratedTokens",
                [](TwoSequences &two) { two.parts[0].phase = Phase::Decode; },
                "sequence 0 of the batch has 5 decode tokens, expected 1"},
        Refusal{"TwoPhases",
                [](TwoSequences &two) {
                  two.parts[1].tokens = two.parts[1].tokens.first(1);
                  two.parts[1].phase = Phase::Decode;
                },
                "sequences 0 and 1 of the batch are in different phases, expected prefill steps "
                "or decode steps"}),
    [](const auto &info) { return std::string(info.param.what); });

// ---- windows ----

// Pages of 4 rows; of the second group a sequence has 3, and steps read 5 rows before their own.
struct TwoGroups {
  TwoGroups() : pool(*PagePool::create(kGroups, 4)), first(pool), second(pool) {
    EXPECT_TRUE(first.reserve(18).has_value());
    EXPECT_TRUE(second.reserve(2).has_value());
  }
  static constexpr KvGroupPages kGroups[] = {{10}, {6, 3, 5}};
  static constexpr BatchShape kWide{4, 6, 100};
  PagePool pool;
  SequencePages first, second;
  std::vector<TokenId> tokens = {10, 11, 12, 13, 14, 15, 16, 17};
};

TEST(Batch, TheTableOfAWindowHasThePagesThatTheStepReadsAndNoOthers) {
  TwoGroups two;
  const BatchPart parts[] = {{std::span(two.tokens).first(4), 14, &two.first},
                             {std::span(two.tokens).first(2), 0, &two.second}};
  Batch batch;
  ASSERT_TRUE(buildBatch(parts, TwoGroups::kWide, batch).has_value());
  EXPECT_THAT(batch.kv[0].pageTable, ElementsAre(0, 1, 2, 3, 4, 0, 5, 0, 0, 0, 0, 0));
  // Rows 9 to 17 are in pages 2 to 4, the last two of which lie where pages 0 and 1 lay.
  EXPECT_THAT(batch.kv[1].pageTable, ElementsAre(0, 0, 2, 0, 1, 0, 3, 0, 0, 0, 0, 0));
  EXPECT_THAT(batch.kv[0].slots, ElementsAre(14, 15, 16, 17, 20, 21));
  EXPECT_THAT(batch.kv[1].slots, ElementsAre(2, 3, 4, 5, 12, 13));
}

TEST(Batch, AStepOfMoreTokensThanAWindowsPagesHoldIsRefused) {
  TwoGroups two;
  ASSERT_TRUE(two.first.reserve(22).has_value());
  const BatchPart part{two.tokens, 14, &two.first};
  Batch batch;
  const auto refused = buildBatch({&part, 1}, TwoGroups::kWide, batch);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "sequence 0 of the batch takes 4 pages of layers with a "
                                     "window for 8 tokens, expected at most 3");
  EXPECT_EQ(batch.tokenCount(), 0);
}

TEST(Batch, APositionBeyondTheTableIsRefusedWherePagesAreFilledInTurn) {
  const KvGroupPages group{3, 3, 5};
  PagePool pool = *PagePool::create({&group, 1}, 4);
  SequencePages pages(pool);
  ASSERT_TRUE(pages.reserve(25).has_value());
  const std::vector<TokenId> tokens = {1};
  const BatchPart part{tokens, 24, &pages};
  Batch batch;
  const auto refused = buildBatch({&part, 1}, TwoGroups::kWide, batch);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "sequence 0 of the batch has 7 pages, expected at most 6");
}

TEST(Batch, SequencesWithAndWithoutWindowsAreRefused) {
  TwoGroups two;
  TwoSequences without;
  const BatchPart parts[] = {{two.tokens, 0, &two.first}, without.parts[1]};
  Batch batch;
  const auto refused = buildBatch(parts, TwoGroups::kWide, batch);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "sequences 0 and 1 of the batch are with and without pages of layers with a window");
}

// ---- states ----

struct TwoStates {
  TwoStates() : pool(*PagePool::create(8, 4, 4)), first(pool), second(pool) {
    EXPECT_TRUE(first.reserve(7).has_value());
    EXPECT_TRUE(second.reserve(1).has_value());
  }
  PagePool pool;
  SequencePages first, second;
  std::vector<TokenId> tokens = {10, 11, 12, 13, 14};
};

TEST(Batch, ASequenceThatBeginsReadsNoStateAndOthersTheirOwn) {
  TwoStates two;
  const BatchPart parts[] = {{two.tokens, 2, &two.first},
                             {std::span(two.tokens).first(1), 0, &two.second}};
  Batch batch;
  ASSERT_TRUE(buildBatch(parts, kShape, batch).has_value());
  EXPECT_THAT(batch.stateSpans, ElementsAre(0, 0, 0, 5, -1, 1, 5, 1));
}

TEST(Batch, ASequenceAfterACheckpointReadsThatAndWritesAnotherSlot) {
  TwoStates two;
  two.first.keepCheckpoint(2);
  const BatchPart part{two.tokens, 2, &two.first};
  Batch batch;
  ASSERT_TRUE(buildBatch({&part, 1}, kShape, batch).has_value());
  EXPECT_THAT(batch.stateSpans, ElementsAre(0, 2, 0, 5));
}

TEST(Batch, SequencesWithAndWithoutStatesAreRefused) {
  TwoStates two;
  TwoSequences without;
  const BatchPart parts[] = {{two.tokens, 2, &two.first}, without.parts[1]};
  Batch batch;
  const auto refused = buildBatch(parts, kShape, batch);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "sequences 0 and 1 of the batch are with and without a state");
}

} // namespace
} // namespace sinter
