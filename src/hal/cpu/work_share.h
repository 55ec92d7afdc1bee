// A range of units that threads take piece by piece: large pieces at first, single units at its
// end, so that who loses his core holds up little.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sinter::hal {

// One atomic word: generation, next unit, end. A thread looks, decides, and takes what it saw; if
// anything changed meanwhile, a new generation too, it gets nothing. So what a thread read between
// look() and a take() that succeeded belongs to the generation that it saw.
class WorkShare {
public:
  static constexpr uint32_t kUnitBits = 18;
  static constexpr uint32_t kMostUnits = (1u << kUnitBits) - 1;

  struct Piece {
    uint32_t first = 0, last = 0;
    bool empty() const { return first == last; }
    uint32_t units() const { return last - first; }
  };

  // Every piece of the generation before must be done. Expects first <= end <= kMostUnits.
  void open(uint32_t generation, uint32_t first, uint32_t end) {
    word_.store(pack(generation, first, end), std::memory_order_release);
  }
  uint64_t look() const { return word_.load(std::memory_order_acquire); }

  // Whether what was seen is of this generation, of those that are counted.
  static bool isOf(uint64_t seen, uint32_t generation) {
    return seen >> (2 * kUnitBits) == pack(generation, 0, 0) >> (2 * kUnitBits);
  }
  // What one of `threads` should take of what it saw: half of its fair part of the rest, and no
  // more than `most`.
  static Piece pieceOf(uint64_t seen, uint32_t threads, uint32_t most = kMostUnits) {
    const auto first = static_cast<uint32_t>(seen >> kUnitBits) & kMostUnits;
    const auto end = static_cast<uint32_t>(seen) & kMostUnits;
    const uint32_t rest = end - first;
    return {first, first + std::min(rest, std::max(std::min(rest / (2 * threads), most), 1u))};
  }
  // Takes a piece of what was seen; else `seen` is what there is now.
  bool take(uint64_t &seen, const Piece &piece) {
    const uint64_t without = seen + (uint64_t{piece.units()} << kUnitBits);
    return word_.compare_exchange_strong(seen, without, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }

private:
  static uint64_t pack(uint32_t generation, uint32_t first, uint32_t end) {
    return uint64_t{generation} << (2 * kUnitBits) | uint64_t{first} << kUnitBits | end;
  }

  alignas(64) std::atomic<uint64_t> word_ = 0;
};

} // namespace sinter::hal
