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

// ---- windows ----

// Pages of 4 rows: of a sequence all in the first group, and 3 in the second, whose steps read 5
// rows before their own.
PagePool poolWithWindow(uint32_t pages = 16, uint32_t windowPages = 7, uint32_t stateSlots = 0) {
  const KvGroupPages groups[] = {{pages}, {windowPages, 3, 5}};
  auto pool = PagePool::create(groups, 4, stateSlots);
  EXPECT_TRUE(pool.has_value()) << pool.error().toString();
  return pool ? std::move(*pool) : *PagePool::create(1, 1);
}

TEST(KvWindows, ASequenceFillsItsPagesOfAWindowInTurn) {
  PagePool pool = poolWithWindow();
  SequencePages pages(pool);
  ASSERT_TRUE(pages.reserve(30).has_value());
  EXPECT_EQ(pool.freePages(0), 8u);
  EXPECT_EQ(pool.freePages(1), 4u);
  for (const uint64_t row : {0, 11, 12, 29})
    EXPECT_EQ(pages.slot(row, 0), static_cast<int32_t>(row));
  EXPECT_EQ(pages.slot(11, 1), 11);
  EXPECT_EQ(pages.slot(12, 1), 0);
  EXPECT_EQ(pages.slot(29, 1), 5);
  EXPECT_EQ(pages.capacity(), 32u);
}

TEST(KvWindows, WhereAllLayersHaveOneTheCapacityHasNoEnd) {
  const KvGroupPages group{3, 3, 5};
  auto pool = PagePool::create({&group, 1}, 4);
  SequencePages pages(*pool);
  ASSERT_TRUE(pages.reserve(8).has_value());
  EXPECT_EQ(pages.capacity(), 8u);
  ASSERT_TRUE(pages.reserve(1000).has_value());
  EXPECT_EQ(pages.capacity(), UINT64_MAX);
}

TEST(KvWindows, AReservationThatOneGroupRefusesTakesNothingOfAny) {
  PagePool pool = poolWithWindow();
  SequencePages first(pool), second(pool), third(pool);
  ASSERT_TRUE(first.reserve(9).has_value());
  ASSERT_TRUE(second.reserve(9).has_value());
  const auto refused = third.reserve(9);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "a sequence of 9 tokens needs 3 more KV pages of layers with "
                                     "a window, and 1 of 7 are free");
  EXPECT_EQ(pool.freePages(0), 10u);
}

TEST(KvWindows, APoolWithFewerPagesThanASequenceHoldsIsRefused) {
  const KvGroupPages groups[] = {{16}, {2, 3, 5}};
  const auto pool = PagePool::create(groups, 4);
  ASSERT_FALSE(pool.has_value());
  EXPECT_EQ(pool.error().message, "a block pool of 2 pages for layers with a window, expected the "
                                  "3 that one sequence may hold");
}

TEST(KvWindows, RoomIsLeftForSequencesThatMayGrow) {
  PagePool pool = poolWithWindow(40, 5);
  EXPECT_TRUE(pool.hasRoomFor(20, 0));
  SequencePages first(pool);
  ASSERT_TRUE(first.reserve(5).has_value()); // two of its three
  EXPECT_TRUE(pool.hasRoomFor(8, 1));
  EXPECT_FALSE(pool.hasRoomFor(12, 1));
}

TEST(KvWindows, NoRoomIsLeftForSequencesThatHoldAllPagesTheyEverWill) {
  PagePool pool = poolWithWindow(40, 6);
  SequencePages first(pool);
  ASSERT_TRUE(first.reserve(12).has_value());
  EXPECT_TRUE(pool.hasRoomFor(100, 1));
  EXPECT_FALSE(pool.hasRoomFor(148, 1)) << "37 pages are free";
}

TEST(KvWindows, StepsGoOnWhereTheWindowsPagesWereNotFilledAgain) {
  PagePool pool = poolWithWindow();
  SequencePages pages(pool);
  ASSERT_TRUE(pages.reserve(20).has_value()); // pages 2, 3 and 4 of five are there
  EXPECT_EQ(pages.resumeAt(19), 19u);
  EXPECT_EQ(pages.resumeAt(13), 13u); // reads from row 8 on
  EXPECT_EQ(pages.resumeAt(12), 0u);
}

TEST(KvWindows, RowsThatWereFilledAgainStayGoneAfterGoingBack) {
  PagePool pool = poolWithWindow();
  SequencePages pages(pool);
  ASSERT_TRUE(pages.reserve(20).has_value());
  ASSERT_EQ(pages.resumeAt(13), 13u);
  pages.shrink(13);
  ASSERT_TRUE(pages.reserve(14).has_value());
  EXPECT_EQ(pages.resumeAt(12), 0u);
  pages.shrink(0);
  ASSERT_TRUE(pages.reserve(12).has_value()); // from the start again
  EXPECT_EQ(pages.resumeAt(5), 5u);
}

TEST(KvWindows, ACheckpointWhoseRowsAreGoneIsNoPlaceToGoOn) {
  PagePool pool = poolWithWindow(16, 7, 4);
  SequencePages pages(pool);
  ASSERT_TRUE(pages.reserve(20).has_value());
  for (const uint64_t rows : {4, 14}) {
    pages.keepCheckpoint(rows);
    pages.stateWritten();
  }
  EXPECT_EQ(pages.resumeAt(15), 14u);
  EXPECT_EQ(pages.resumeAt(13), 0u);
}

TEST(KvWindows, PagesOfAllGroupsComeBackWithTheirSequence) {
  PagePool pool = poolWithWindow();
  {
    SequencePages pages(pool);
    ASSERT_TRUE(pages.reserve(30).has_value());
    SequencePages moved(std::move(pages));
    ASSERT_TRUE(pages.reserve(4).has_value()); // a new sequence
    SequencePages other(pool);
    other = std::move(moved);
    EXPECT_EQ(pool.freePages(1), 3u);
  }
  EXPECT_EQ(pool.freePages(0), 16u);
  EXPECT_EQ(pool.freePages(1), 7u);
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
