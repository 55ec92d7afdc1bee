// What a launch to come reads in the order of its points: threads that wait fetch into their caches
// the beginning of what they are likely to be given of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace sinter::hal {

// One thread expects, any number fetch. Nothing is loaded, so the memory may be gone by then.
class ReadAhead {
public:
  // A thread's part of what is expected, by shares of 2^32, and how far it is.
  struct Place {
    uint32_t from = 0, to = 0;
    uint32_t seen = 0; // the expectation that the rest belongs to
    const uint8_t *next = nullptr, *end = nullptr;
  };

  // `mostBytes` are fetched by one thread at most.
  explicit ReadAhead(uint64_t mostBytes) : mostBytes_(mostBytes) {}

  // Until the next call; the same bytes again change nothing.
  void expect(std::span<const uint8_t> bytes) {
    if (bytes.data() == first_.load(std::memory_order_relaxed) &&
        bytes.size() == bytes_.load(std::memory_order_relaxed))
      return;
    first_.store(bytes.data(), std::memory_order_relaxed);
    bytes_.store(bytes.size(), std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_release);
  }
  // Fetches a few lines of the part; false where all were.
  bool fetchSome(Place &place) const {
    if (count_.load(std::memory_order_acquire) != place.seen)
      begin(place);
    for (int i = 0; i < kLinesAtOnce && place.next < place.end; ++i, place.next += kLineBytes)
      __builtin_prefetch(place.next, 0, 2);
    return place.next < place.end;
  }

private:
  static constexpr int kLinesAtOnce = 4; // a look for work between them costs little
  static constexpr int64_t kLineBytes = 64;

  void begin(Place &place) const;

  const uint64_t mostBytes_;
  std::atomic<const uint8_t *> first_ = nullptr;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint32_t> count_ = 0;
};

} // namespace sinter::hal
