// Code tables in few bits: each entry is found again.
#include "numeric/formats/level_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace sinter {
namespace {

TEST(LevelTable, HasEachEntryOfEachFormatsTable) {
  int tables = 0;
  for (const BlockFormat &format : blockFormats()) {
    if (!format.table.present())
      continue;
    SCOPED_TRACE(std::string(format.name));
    const LevelTable found = levelTable(format.table);
    EXPECT_TRUE(std::ranges::is_sorted(found.levels));
    EXPECT_EQ(std::ranges::adjacent_find(found.levels), found.levels.end());
    EXPECT_TRUE(std::has_single_bit(found.bits));
    const uint32_t entries = uint32_t{format.table.count} * format.table.lanes;
    ASSERT_GE(found.words.size() * found.itemsOfWord(), entries);
    for (uint32_t i = 0; i < entries; ++i) {
      const uint32_t level =
          found.words[i / found.itemsOfWord()] >> i % found.itemsOfWord() * found.bits &
          ((1u << found.bits) - 1);
      ASSERT_EQ(found.levels.at(level), format.table.values[i]) << i;
    }
    ++tables;
  }
  EXPECT_GT(tables, 10);
}

// What shared constants of a kernel cost: at most 1,024 words for any format.
TEST(LevelTable, IsSmall) {
  for (const BlockFormat &format : blockFormats())
    if (format.table.present())
      EXPECT_LE(levelTable(format.table).words.size(), 1024u) << format.name;
}

} // namespace
} // namespace sinter
