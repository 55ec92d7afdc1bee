// Placement of temporary buffers: no overlap in space for those that meet in time, and reuse for
// those that do not.
#include "runtime/arena.h"

#include <gtest/gtest.h>
#include <random>

namespace sinter::runtime {
namespace {

ArenaLayout place(const std::vector<ArenaItem> &items) {
  auto layout = placeInArena(items);
  EXPECT_TRUE(layout.has_value());
  return layout ? *layout : ArenaLayout{};
}

TEST(Arena, ItemsThatNeverMeetShareTheirBytes) {
  EXPECT_EQ(place({{100, 0, 1}, {100, 2, 3}, {100, 4, 4}}).bytes, 128u);
}

TEST(Arena, ItemsThatMeetAtOneStepAreApart) {
  EXPECT_EQ(place({{64, 0, 1}, {64, 1, 2}}).bytes, 128u);
}

TEST(Arena, ASmallItemTakesTheSmallestGapThatHoldsIt) {
  // The first and the third are gone at step 1: gaps of 1024 bytes at 0 and of 832 at 1984.
  const ArenaLayout layout =
      place({{1000, 0, 0}, {900, 0, 1}, {800, 0, 0}, {700, 0, 1}, {600, 1, 1}, {500, 1, 1}});
  EXPECT_EQ(layout.offsets, (std::vector<uint64_t>{0, 1024, 1984, 2816, 1984, 0}));
}

TEST(Arena, NothingTakesNothing) {
  EXPECT_EQ(place({}).bytes, 0u);
  EXPECT_EQ(place({{0, 0, 9}, {0, 0, 9}}).bytes, 0u);
}

TEST(Arena, ItemsThatMeetNeverOverlapAndAreAligned) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaItem> items(random() % 40);
    for (ArenaItem &item : items) {
      item.first = static_cast<uint32_t>(random() % 30);
      item.last = item.first + static_cast<uint32_t>(random() % 8);
      item.bytes = random() % 1000;
    }
    const ArenaLayout layout = place(items);
    for (std::size_t a = 0; a < items.size(); ++a) {
      EXPECT_EQ(layout.offsets[a] % kArenaAlignment, 0u);
      EXPECT_LE(layout.offsets[a] + items[a].bytes, layout.bytes);
      for (std::size_t b = 0; b < a; ++b)
        if (items[a].first <= items[b].last && items[b].first <= items[a].last)
          EXPECT_TRUE(layout.offsets[a] + items[a].bytes <= layout.offsets[b] ||
                      layout.offsets[b] + items[b].bytes <= layout.offsets[a])
              << round;
    }
  }
}

TEST(Arena, SizesBeyondSixtyFourBitsAreRefused) {
  const std::vector<ArenaItem> items = {{UINT64_MAX / 2 + 1, 0, 0}, {UINT64_MAX / 2 + 1, 1, 1}};
  EXPECT_EQ(placeInArena(items).error().code, Code::InvalidArgument);
  EXPECT_EQ(placeInArena(std::vector<ArenaItem>{{UINT64_MAX, 0, 0}}).error().code,
            Code::InvalidArgument);
}

TEST(Arena, MoreItemsThanTheLimitAreRefused) {
  EXPECT_EQ(placeInArena(std::vector<ArenaItem>(kMaxArenaItems + 1)).error().code, Code::Exhausted);
}

} // namespace
} // namespace sinter::runtime
