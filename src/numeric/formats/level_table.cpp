// Levels of a table in ascending order, and each entry by the number of its level.
#include "numeric/formats/level_table.h"

#include <algorithm>
#include <span>

namespace sinter {

LevelTable levelTable(const CodeTable &table) {
  std::span<const int8_t> values(table.values, size_t{table.count} * table.lanes);
  LevelTable result;
  result.levels.assign(values.begin(), values.end());
  std::ranges::sort(result.levels);
  auto repeated = std::ranges::unique(result.levels);
  result.levels.erase(repeated.begin(), repeated.end());
  result.bits = 1;
  while ((size_t{1} << result.bits) < result.levels.size())
    result.bits *= 2;
  result.words.resize((values.size() + result.itemsOfWord() - 1) / result.itemsOfWord());
  for (size_t i = 0; i < values.size(); ++i) {
    auto level = std::ranges::lower_bound(result.levels, values[i]) - result.levels.begin();
    result.words[i / result.itemsOfWord()] |= static_cast<uint32_t>(level)
                                              << i % result.itemsOfWord() * result.bits;
  }
  return result;
}

} // namespace sinter
