// The page pool and the pages of sequences.
#include "llm/kv_pages.h"

#include <gtest/gtest.h>

#include <set>

namespace sinter {
namespace {

TEST(KvPages, APoolHandsOutEachPageOnceFromZeroUp) {
  auto pool = PagePool::create(5, 16);
  ASSERT_TRUE(pool.has_value());
  for (uint32_t i = 0; i < 5; ++i)
    EXPECT_EQ(pool->take(), PageId{i});
}

TEST(KvPages, AnEmptyPoolRefusesWithItsSize) {
  auto pool = PagePool::create(1, 16);
  ASSERT_TRUE(pool->take().has_value());
  auto page = pool->take();
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, Code::Exhausted);
  EXPECT_EQ(page.error().message, "all 1 pages of the KV cache are in use");
}

TEST(KvPages, AGivenPageIsTakenNext) {
  auto pool = PagePool::create(4, 16);
  const PageId first = *pool->take();
  ASSERT_TRUE(pool->take().has_value());
  pool->give(first);
  EXPECT_EQ(pool->take(), first);
}

TEST(KvPages, APoolWithoutPagesOrRowsOrBeyondI32IsRefused) {
  const std::pair<uint32_t, uint32_t> sizes[] = {
      {0, 16}, {16, 0}, {1u << 31, 1}, {1u << 20, 1u << 11}};
  for (const auto &[pages, rows] : sizes) {
    auto pool = PagePool::create(pages, rows);
    ASSERT_FALSE(pool.has_value()) << pages << " " << rows;
    EXPECT_EQ(pool.error().code, Code::InvalidArgument);
  }
}

TEST(KvPages, AnOrderThatRepeatsAPageIsRefused) {
  const PageId order[] = {{0}, {2}, {2}};
  auto pool = PagePool::createInOrder(order, 16);
  ASSERT_FALSE(pool.has_value());
  EXPECT_EQ(pool.error().message, "the order of 3 pages names page 2, expected each page once");
}

TEST(KvPages, SlotsFollowTheSequencesOwnPages) {
  const PageId order[] = {{2}, {0}, {1}};
  auto pool = PagePool::createInOrder(order, 4);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(9).has_value());
  EXPECT_EQ(pages.slot(0), 8);
  EXPECT_EQ(pages.slot(3), 11);
  EXPECT_EQ(pages.slot(4), 0);
  EXPECT_EQ(pages.slot(8), 4);
}

TEST(KvPages, AReservationBeyondThePoolSaysItsNumbersAndTakesNothing) {
  auto pool = PagePool::create(3, 4);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(4).has_value());
  auto more = pages.reserve(17);
  ASSERT_FALSE(more.has_value());
  EXPECT_EQ(more.error().code, Code::Exhausted);
  EXPECT_EQ(more.error().message,
            "a sequence of 17 tokens needs 4 more KV pages, and 2 of 3 are free");
  EXPECT_EQ(pages.capacity(), 4u);
  EXPECT_EQ(pool->freePages(), 2u);
}

TEST(KvPages, ShrinkingKeepsThePagesThatTheRowsStillNeed) {
  auto pool = PagePool::create(8, 4);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(20).has_value());
  pages.shrink(5);
  EXPECT_EQ(pages.capacity(), 8u);
  EXPECT_EQ(pool->freePages(), 6u);
}

TEST(KvPages, ADyingSequenceGivesItsPagesBack) {
  auto pool = PagePool::create(8, 4);
  {
    SequencePages pages(*pool);
    ASSERT_TRUE(pages.reserve(20).has_value());
    SequencePages moved(std::move(pages));
    EXPECT_EQ(pool->freePages(), 3u);
  }
  EXPECT_EQ(pool->freePages(), 8u);
}

TEST(KvPages, NoPageIsEverHeldTwice) {
  auto pool = PagePool::create(16, 2);
  std::vector<SequencePages> sequences;
  for (int i = 0; i < 4; ++i)
    sequences.emplace_back(*pool);
  for (uint64_t round = 1; round < 200; ++round) {
    SequencePages &one = sequences[round * 7 % 4];
    if (round % 3 == 0)
      one.shrink(round % 5);
    else
      (void)one.reserve(round % 11);
    std::set<PageId> held;
    size_t count = 0;
    for (const SequencePages &sequence : sequences) {
      held.insert(sequence.pages().begin(), sequence.pages().end());
      count += sequence.pages().size();
    }
    ASSERT_EQ(held.size(), count) << "round " << round;
    ASSERT_EQ(count + pool->freePages(), 16u) << "round " << round;
  }
}

// ---- states ----

TEST(SequenceStates, AreTakenWithTheFirstPageAndGivenBackWithTheLast) {
  auto pool = PagePool::create(8, 4, 2);
  SequencePages first(*pool), second(*pool);
  EXPECT_FALSE(first.hasState());
  ASSERT_TRUE(first.reserve(5).has_value());
  ASSERT_TRUE(second.reserve(1).has_value());
  EXPECT_EQ(first.stateToWrite(), 0);
  EXPECT_EQ(second.stateToWrite(), 1);
  EXPECT_FALSE(pool->hasRoomForState());
  first.shrink(1);
  EXPECT_TRUE(first.hasState());
  first.shrink(0);
  EXPECT_FALSE(first.hasState());
  EXPECT_EQ(pool->freeStates(), 1u);
}

TEST(SequenceStates, ThatThePoolHasNotAreRefusedWithTheNumberAndNothingChanges) {
  auto pool = PagePool::create(8, 4, 1);
  SequencePages first(*pool), second(*pool);
  ASSERT_TRUE(first.reserve(1).has_value());
  const auto refused = second.reserve(1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Exhausted);
  EXPECT_EQ(refused.error().message, "all 1 slots for states of sequences are in use");
  EXPECT_EQ(pool->freePages(), 7u);
}

TEST(SequenceStates, AStepAfterACheckpointReadsItAndWritesAnotherSlot) {
  auto pool = PagePool::create(8, 4, 3);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(8).has_value());
  EXPECT_EQ(pages.stateToRead(), 0);
  pages.keepCheckpoint(3);
  EXPECT_EQ(pages.stateToRead(), 0);
  EXPECT_EQ(pages.stateToWrite(), 1);
  pages.stateWritten();
  EXPECT_EQ(pages.stateToRead(), 1);
  EXPECT_EQ(pages.resumeAt(7), 3u);
  EXPECT_EQ(pages.stateToRead(), 0);
  EXPECT_EQ(pages.stateToWrite(), 1);
}

TEST(SequenceStates, GoBackToTheLastCheckpointThatIsNotBeyond) {
  auto pool = PagePool::create(8, 4, 4);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(20).has_value());
  for (const uint64_t rows : {4, 9, 14}) {
    pages.keepCheckpoint(rows);
    pages.stateWritten();
  }
  EXPECT_EQ(pages.resumeAt(13), 9u);
  EXPECT_EQ(pool->freeStates(), 1u); // that of 14
  EXPECT_EQ(pages.resumeAt(9), 9u);
  EXPECT_EQ(pages.resumeAt(3), 0u);
  EXPECT_EQ(pool->freeStates(), 3u);
}

TEST(SequenceStates, TheOldestCheckpointGoesWhereThereAreTooManyOrNoSlotIsFree) {
  for (const uint32_t slots : {kMostCheckpoints, kMostCheckpoints + 5}) {
    auto pool = PagePool::create(8, 4, slots);
    SequencePages pages(*pool);
    ASSERT_TRUE(pages.reserve(20).has_value());
    for (uint64_t rows = 1; rows <= kMostCheckpoints + 1; ++rows) {
      pages.keepCheckpoint(rows);
      pages.stateWritten();
    }
    EXPECT_EQ(pages.resumeAt(1), 0u) << slots;
  }
}

TEST(SequenceStates, WithoutAFreeSlotThereIsNoCheckpoint) {
  auto pool = PagePool::create(8, 4, 1);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(4).has_value());
  pages.keepCheckpoint(2);
  EXPECT_EQ(pages.stateToWrite(), 0);
  EXPECT_EQ(pages.resumeAt(3), 0u);
}

TEST(SequenceStates, APoolWithoutThemGoesBackAnywhere) {
  auto pool = PagePool::create(8, 4);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(8).has_value());
  pages.keepCheckpoint(3);
  EXPECT_EQ(pages.resumeAt(6), 6u);
}

TEST(SequenceStates, MoveWithTheirPages) {
  auto pool = PagePool::create(8, 4, 2);
  {
    SequencePages pages(*pool);
    ASSERT_TRUE(pages.reserve(1).has_value());
    SequencePages moved(std::move(pages));
    EXPECT_TRUE(moved.hasState());
    EXPECT_EQ(pool->freeStates(), 1u);
  }
  EXPECT_EQ(pool->freeStates(), 2u);
}

} // namespace
} // namespace sinter
