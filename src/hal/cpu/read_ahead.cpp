// Where a thread's part of the expected bytes lies.
#include "hal/cpu/read_ahead.h"

#include <algorithm>

namespace sinter::hal {

// Of two expectations read at once it would fetch what nobody reads.
void ReadAhead::begin(Place &place) const {
  place.seen = count_.load(std::memory_order_acquire);
  const uint8_t *first = first_.load(std::memory_order_relaxed);
  const uint64_t bytes = bytes_.load(std::memory_order_relaxed);
  const auto at = [&](uint32_t share) {
    return static_cast<uint64_t>(static_cast<double>(bytes) * share / 0x1p32);
  };
  const uint64_t from = at(place.from), to = std::max(from, at(place.to));
  place.next = first + from;
  place.end = place.next + std::min(to - from, mostBytes_);
}

} // namespace sinter::hal
