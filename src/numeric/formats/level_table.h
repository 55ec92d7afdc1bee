// A code table in few bits, for processors that look numbers up in memory or in constants.
#pragma once

#include "numeric/formats/block_format.h"

#include <vector>

namespace sinter {

/// Entry i of a CodeTable (code * lanes + lane) is levels[item i of `words`], with items of `bits`
/// bits each (a power of two), the first in the lowest bits of a word.
struct LevelTable {
  uint32_t bits = 0;
  std::vector<int8_t> levels; // ascending, each once
  std::vector<uint32_t> words;

  uint32_t itemsOfWord() const { return 32 / bits; }
};
LevelTable levelTable(const CodeTable &table);

} // namespace sinter
