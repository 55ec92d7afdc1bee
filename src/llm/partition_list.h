// Lists of split-KV partitions, so that a step has as many programs of attention as its sequences
// have partitions.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace sinter {

// Which partitions layers of a KV cache group read.
struct PartitionRules {
  int64_t keys = 1; // positions of a partition; at least 1
  // Positions before a row's own that it reads at most.
  int64_t lookBack = std::numeric_limits<int64_t>::max();
  // A row that sees more positions than `most` such partitions hold has longer ones, of whole steps
  // of `step` positions (contract::kMostPartitions).
  int64_t most = std::numeric_limits<int64_t>::max(), step = 1;
};
// Positions of a partition of a row that sees so many.
int64_t partitionKeys(const PartitionRules &rules, int64_t seen);

// Query tiles as a step has them.
struct TileRows {
  std::span<const int32_t> tiles;     // [B * 3] (contract::Input::QueryTiles)
  std::span<const int32_t> positions; // of each row
  std::span<const int32_t> lengths;   // of each sequence
};

// Fills `list` (its memory is reused) with rows of contract::Input::Partitions: of each query tile
// in turn its partitions in ascending order, at least one.
void listPartitions(const TileRows &rows, const PartitionRules &rules, std::vector<int32_t> &list);
int64_t partitionCount(const std::vector<int32_t> &list);
// The rows that a list of so many is padded to: at most an eighth more, so that few sizes occur.
int64_t paddedPartitions(int64_t count);
// Unused rows at the end.
void padPartitions(int64_t count, std::vector<int32_t> &list);

} // namespace sinter
