// Greedy best-fit placement by size.
#include "runtime/arena.h"

#include "base/checked.h"

#include <algorithm>
#include <numeric>

namespace sinter::runtime {
namespace {

struct Placed {
  uint64_t begin, end;
  uint32_t first, last;
};

// The start of the smallest gap of at least `bytes` between the placed items that live at the same
// time as `item`; else the end of the last of them. `placed` ascends by begin.
uint64_t bestGap(const std::vector<Placed> &placed, const ArenaItem &item, uint64_t bytes) {
  uint64_t free = 0; // the end of what was seen so far
  uint64_t best = UINT64_MAX, bestBytes = UINT64_MAX;
  for (const Placed &other : placed) {
    if (other.last < item.first || item.last < other.first)
      continue;
    if (other.begin > free && other.begin - free >= bytes && other.begin - free < bestBytes) {
      best = free;
      bestBytes = other.begin - free;
    }
    free = std::max(free, other.end);
  }
  return best == UINT64_MAX ? free : best;
}

} // namespace

Result<ArenaLayout> placeInArena(std::span<const ArenaItem> items) {
  if (items.size() > kMaxArenaItems)
    return fail(Code::Exhausted, std::to_string(items.size()) +
                                     " temporary buffers in a procedure, expected at most " +
                                     std::to_string(kMaxArenaItems));
  CheckedSize sum = 0;
  for (const ArenaItem &item : items)
    sum = sum + alignUp(CheckedSize(item.bytes), kArenaAlignment);
  if (!sum.valid())
    return fail(Code::InvalidArgument, "temporary buffers exceed 64 bits in all");
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return items[a].bytes != items[b].bytes ? items[a].bytes > items[b].bytes : a < b;
  });
  ArenaLayout layout{std::vector<uint64_t>(items.size()), 0};
  std::vector<Placed> placed;
  placed.reserve(items.size());
  for (std::size_t index : order) {
    const ArenaItem &item = items[index];
    // No overflow: no item lies above the sum of all.
    const uint64_t bytes = (item.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    const uint64_t begin = bestGap(placed, item, bytes);
    const Placed entry{begin, begin + bytes, item.first, item.last};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed &a, const Placed &b) { return a.begin < b.begin; }),
        entry);
    layout.offsets[index] = begin;
    layout.bytes = std::max(layout.bytes, entry.end);
  }
  return layout;
}

} // namespace sinter::runtime
