// The pause instruction and the futex system call.
#include "hal/cpu/waiting.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sinter::hal {

static void pauseOnce() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

bool Patience::spin() {
  if (spins_ >= limit_)
    return false;
  ++spins_;
  pauseOnce();
  return true;
}

// Sleeper and waker each write their own word before they read the other's, all in one total order,
// so one of them sees the other.
void WaitWord::sleepWhile(uint32_t seen) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  sleepers_.fetch_add(1);
  if (value_.load() == seen)
    syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  sleepers_.fetch_sub(1);
}

void WaitWord::wakeSleepers(uint32_t count) {
  syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

} // namespace sinter::hal
