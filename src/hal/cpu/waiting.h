// How threads wait for one another: a while awake, then asleep in the kernel.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sinter::hal {

// A word whose change threads can sleep for.
class WaitWord {
public:
  uint32_t load() const { return value_.load(std::memory_order_acquire); }
  void store(uint32_t value) { value_.store(value, std::memory_order_relaxed); }
  // Each returns the value before.
  uint32_t add(uint32_t value) { return value_.fetch_add(value); }
  uint32_t subtract(uint32_t value) { return value_.fetch_sub(value); }
  uint32_t setBits(uint32_t bits) { return value_.fetch_or(bits); }
  uint32_t clearBits(uint32_t bits) { return value_.fetch_and(~bits); }

  // Sleeps until wake(), unless the word is no longer `seen`; may return without a reason.
  void sleepWhile(uint32_t seen);
  // At most `count` of the sleepers. Costs a load where there are none. To be called after the
  // change.
  void wake(uint32_t count) {
    if (sleepers_.load() > 0)
      wakeSleepers(count);
  }

private:
  void wakeSleepers(uint32_t count);

  std::atomic<uint32_t> value_ = 0;
  std::atomic<uint32_t> sleepers_ = 0;
};

// How long a thread stays awake, learnt from how its last waits ended: where others have work for
// the core, waits end in sleep, and soon few cycles are burnt before it.
class Patience {
public:
  // Pauses and returns true, or returns false: sleep.
  bool spin();
  void endedAwake() { end(limit_ * 2); }
  void endedAsleep() { end(limit_ / 2); }
  // After a wait that says nothing.
  void forget() { spins_ = 0; }

private:
  // In pauses, of some 60 ns on Xeons. The most is far above the gap between two launches, and a
  // small part of a time slice of whoever took the core of the thread that is waited for.
  static constexpr uint32_t kLeast = 64, kMost = 2048;
  void end(uint32_t limit) {
    limit_ = std::clamp(limit, kLeast, kMost);
    spins_ = 0;
  }

  uint32_t spins_ = 0;
  uint32_t limit_ = kMost;
};

} // namespace sinter::hal
