// Places buffers that are not needed at the same time in the same memory.
#pragma once

#include "base/status.h"

#include <span>
#include <vector>

namespace sinter::runtime {

inline constexpr uint64_t kArenaAlignment = 64;
inline constexpr std::size_t kMaxArenaItems =
    1 << 14; // placing costs up to the square of their number

// A buffer that needs its bytes over the positions [first, last].
struct ArenaItem {
  uint64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct ArenaLayout {
  std::vector<uint64_t> offsets; // of each item, multiples of kArenaAlignment
  uint64_t bytes = 0;            // of the arena
};

// Largest item first, each into the smallest gap left by the placed ones that it meets in time.
// Items that meet never overlap. InvalidArgument when the sum exceeds 64 bits, Exhausted above
// kMaxArenaItems.
Result<ArenaLayout> placeInArena(std::span<const ArenaItem> items);

} // namespace sinter::runtime
