// Memory that faults on the first byte past one of its ends, and a way to survive the fault.
#pragma once

#include "base/check.h"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::targets::cpu {

// Which end of the memory lies against an unmapped page; the other end has a zone of poison that is
// checked.
enum class GuardedEnd { Front, Back };

// A copy of some bytes between two unmapped pages.
class GuardedMemory {
public:
  static constexpr uint8_t kPoison = 0xa5;

  GuardedMemory(size_t size, GuardedEnd end, size_t alignment) : size_(size) {
    page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (size + alignment + page_ - 1) / page_ * page_;
    void *map = mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SINTER_CHECK(map != MAP_FAILED);
    map_ = static_cast<uint8_t *>(map);
    SINTER_CHECK(mprotect(map_ + page_, inner_, PROT_READ | PROT_WRITE) == 0);
    std::memset(map_ + page_, kPoison, inner_);
    size_t offset = end == GuardedEnd::Front ? 0 : (inner_ - size) / alignment * alignment;
    data_ = map_ + page_ + offset;
  }
  ~GuardedMemory() { munmap(map_, inner_ + 2 * page_); }
  GuardedMemory(const GuardedMemory &) = delete;
  GuardedMemory &operator=(const GuardedMemory &) = delete;

  uint8_t *data() { return data_; }
  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  // From now on writes fault.
  void protect() { mprotect(map_ + page_, inner_, PROT_READ); }
  // Whether the mapped bytes around the data are as they were.
  bool zonesUntouched() const {
    for (const uint8_t *at = map_ + page_; at < map_ + page_ + inner_; ++at)
      if ((at < data_ || at >= data_ + size_) && *at != kPoison)
        return false;
    return true;
  }

private:
  size_t size_, page_, inner_;
  uint8_t *map_, *data_;
};

// Runs f and returns the number of the signal that ended it, 0 where none did. f owns nothing: a
// fault skips its destructors. One thread at a time.
template <class F> int signalOf(F f) {
  static sigjmp_buf back;
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction old[4], now = {};
  now.sa_handler = [](int signal) { siglongjmp(back, signal); };
  for (int i = 0; i < 4; ++i)
    sigaction(kSignals[i], &now, &old[i]);
  int signal = sigsetjmp(back, 1);
  if (signal == 0)
    f();
  for (int i = 0; i < 4; ++i)
    sigaction(kSignals[i], &old[i], nullptr);
  return signal;
}

} // namespace sinter::targets::cpu
