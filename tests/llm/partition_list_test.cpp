// Lists of split-KV partitions: of ragged batches, of windows, and how long they are.
#include "llm/partition_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter {
namespace {

using testing::ElementsAre;

// Rows of a list, without the column of bases.
std::vector<std::vector<int32_t>> rowsOf(const std::vector<int32_t> &list) {
  std::vector<std::vector<int32_t>> rows;
  for (size_t at = 0; at < list.size(); at += 6)
    rows.emplace_back(list.begin() + static_cast<int64_t>(at),
                      list.begin() + static_cast<int64_t>(at) + 5);
  return rows;
}

using Row = std::vector<int32_t>;

const std::vector<int32_t> kTiles = {0, 0, 1, 1, 1, 1, 2, 2, 1}, kPositions = {9, 0, 4},
                           kLengths = {10, 1, 5};

TEST(PartitionList, EachTileHasThePartitionsThatItsSequenceFills) {
  std::vector<int32_t> list = {7, 7}; // of an earlier step
  listPartitions({kTiles, kPositions, kLengths}, {.keys = 4}, list);
  EXPECT_THAT(rowsOf(list),
              ElementsAre(Row{0, 0, 1, 0, 0}, Row{0, 0, 1, 4, 1}, Row{0, 0, 1, 8, 2},
                          Row{1, 1, 1, 0, 3}, Row{2, 2, 1, 0, 4}, Row{2, 2, 1, 4, 5}));
}

// A row's partition n has slot base + n times the rows of its tile.
TEST(PartitionList, BasesLeadToTheSlotsOfEachTile) {
  const std::vector<int32_t> tiles = {0, 0, 2, 1, 2, 3}, positions = {8, 9, 4, 5, 6},
                             lengths = {10, 7};
  for (const int64_t lookBack : {int64_t(100), int64_t(2)}) {
    std::vector<int32_t> list;
    listPartitions({tiles, positions, lengths}, {4, lookBack}, list);
    for (int64_t row = 0; row < partitionCount(list); ++row) {
      const int32_t *columns = &list[static_cast<size_t>(row * 6)];
      const int32_t tile = columns[0]; // one of each sequence
      EXPECT_EQ(list[static_cast<size_t>(tile * 6 + 5)] + columns[3] / 4 * columns[2], columns[4]);
    }
  }
}

TEST(PartitionList, PartitionsBeforeAWindowAreLeftOut) {
  std::vector<int32_t> list;
  listPartitions({kTiles, kPositions, kLengths}, {.keys = 4, .lookBack = 1}, list);
  EXPECT_THAT(rowsOf(list), ElementsAre(Row{0, 0, 1, 8, 0}, Row{1, 1, 1, 0, 1}, Row{2, 2, 1, 0, 2},
                                        Row{2, 2, 1, 4, 3}));
  EXPECT_EQ(list[5], -2); // of the first tile, whose partitions 0 and 1 have no slots
}

// By its own positions: one of 10 has 2 of 6 in place of 5 of 2, one of 1 has what it had.
TEST(PartitionList, ALongSequenceHasFewerAndLongerPartitions) {
  const PartitionRules rules = {.keys = 2, .most = 2, .step = 2};
  std::vector<int32_t> list;
  listPartitions({kTiles, kPositions, kLengths}, rules, list);
  EXPECT_THAT(rowsOf(list), ElementsAre(Row{0, 0, 1, 0, 0}, Row{0, 0, 1, 6, 1}, Row{1, 1, 1, 0, 2},
                                        Row{2, 2, 1, 0, 3}, Row{2, 2, 1, 4, 4}));
  for (int64_t length = 1; length < 200; ++length) {
    const int64_t keys = partitionKeys(rules, length);
    EXPECT_EQ(keys % rules.step, 0);
    EXPECT_LE((length + keys - 1) / keys, rules.most);
  }
}

TEST(PartitionList, PaddedListsHaveFewSizesAndLittleToSpare) {
  EXPECT_EQ(paddedPartitions(0), 1);
  for (int64_t count = 1; count < 5000; ++count) {
    const int64_t padded = paddedPartitions(count);
    EXPECT_GE(padded, count);
    EXPECT_LE(8 * padded, 9 * count + 7) << count;
    EXPECT_EQ(paddedPartitions(padded), padded);
  }
  std::vector<int32_t> list = {1, 2, 1, 4, 5, 6};
  padPartitions(2, list);
  EXPECT_THAT(list, ElementsAre(1, 2, 1, 4, 5, 6, 0, 0, 0, 0, 0, 0));
}

} // namespace
} // namespace sinter
