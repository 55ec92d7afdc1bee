// Walks query tiles and their sequences' keys.
#include "llm/partition_list.h"

#include "base/check.h"
#include "plan/contract.h"

#include <algorithm>
#include <bit>

namespace sinter {

using contract::kPartitionColumns;

namespace {
struct Tile {
  int32_t sequence, first, rows;
};
} // namespace

static std::vector<Tile> tilesOf(std::span<const int32_t> numbers) {
  std::vector<Tile> tiles;
  for (size_t at = 0; at + 2 < numbers.size(); at += 3)
    tiles.push_back({numbers[at], numbers[at + 1], numbers[at + 2]});
  return tiles;
}

int64_t partitionKeys(const PartitionRules &rules, int64_t seen) {
  const int64_t steps = (seen + rules.step - 1) / rules.step,
                stepsOfEach = steps / rules.most + (steps % rules.most != 0);
  return std::max(rules.keys, stepsOfEach * rules.step);
}

void listPartitions(const TileRows &rows, const PartitionRules &rules, std::vector<int32_t> &list) {
  SINTER_CHECK(rules.keys >= 1 && rules.most >= 1 && rules.step >= 1);
  const std::vector<Tile> tiles = tilesOf(rows.tiles);
  std::vector<int64_t> bases; // of each tile, its first slot if its sequence's first key had one
  int64_t slot = 0;
  list.clear();
  for (const Tile &tile : tiles) {
    const int64_t position = rows.positions[static_cast<size_t>(tile.first)],
                  length = rows.lengths[static_cast<size_t>(tile.sequence)];
    const size_t last = static_cast<size_t>(std::max(tile.first, tile.first + tile.rows - 1));
    const int64_t keys =
        partitionKeys(rules, std::min<int64_t>(length, int64_t{rows.positions[last]} + 1));
    const int64_t first = position > rules.lookBack ? (position - rules.lookBack) / keys : 0;
    bases.push_back(slot - first * tile.rows);
    for (int64_t from = first * keys; from < length; from += keys, slot += tile.rows)
      list.insert(list.end(), {tile.sequence, tile.first, tile.rows, static_cast<int32_t>(from),
                               static_cast<int32_t>(slot), 0});
  }
  SINTER_CHECK(partitionCount(list) >= static_cast<int64_t>(tiles.size()));
  for (size_t tile = 0; tile < bases.size(); ++tile)
    list[(tile + 1) * kPartitionColumns - 1] = static_cast<int32_t>(bases[tile]);
}

int64_t partitionCount(const std::vector<int32_t> &list) {
  return static_cast<int64_t>(list.size()) / kPartitionColumns;
}

int64_t paddedPartitions(int64_t count) {
  constexpr uint64_t kSizesOfAnOctave = 8;
  const auto rows = static_cast<uint64_t>(std::max<int64_t>(count, 1));
  const uint64_t step = std::max<uint64_t>(std::bit_floor(rows) / kSizesOfAnOctave, 1);
  return static_cast<int64_t>((rows + step - 1) / step * step);
}

void padPartitions(int64_t count, std::vector<int32_t> &list) {
  SINTER_CHECK(partitionCount(list) <= count);
  list.resize(static_cast<size_t>(count * kPartitionColumns), 0);
}

} // namespace sinter
