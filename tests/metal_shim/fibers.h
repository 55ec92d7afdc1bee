// Threads of a threadgroup as fibers of one host thread: each runs until it must meet others, and
// goes on when they have come. Threads that meet in different places are an error, not a hang.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace metal_shim {

inline constexpr uint32_t kMostThreads = 1024, kLanes = 32, kSlotBytes = 16;
inline constexpr size_t kStackBytes = 256 << 10;

enum class State : uint8_t { Ready, AtSimdgroup, AtThreadgroup, Ended };

struct Fiber {
  void *stack = nullptr; // where it goes on
  uint32_t simdgroup = 0, lane = 0;
  State state = State::Ended;
  uint32_t meetings = 0; // with its simdgroup
};

// What the lanes of a simdgroup show each other. Two sets in turn: a lane may show its next value
// while others still read the last.
struct alignas(16) Slots {
  unsigned char bytes[2][kLanes * kSlotBytes];
};

struct Machine {
  Fiber fibers[kMostThreads];
  Slots slots[kMostThreads / kLanes];
  unsigned char *stacks = nullptr;
  void *scheduler = nullptr;
  Fiber *running = nullptr;
  uint32_t threads = 0;
  bool backwards = false;
  void (*program)(void *) = nullptr; // what each fiber calls
  void *argument = nullptr;
};

inline Machine machine;

inline Fiber &current() {
  return *machine.running;
}

[[noreturn]] inline void die(const char *what) {
  std::fprintf(stderr, "metal shim: %s\n", what);
  std::abort();
}

// Saves what a call must keep on the stack, leaves its top in *from and goes on at `to`.
#if defined(__x86_64__)
extern "C" void sinterShimSwitch(void **from, void *to);
asm(R"(
  .text
  .weak sinterShimSwitch
  .type sinterShimSwitch, @function
sinterShimSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
)");
inline constexpr size_t kSavedWords = 6;
#elif defined(__aarch64__)
extern "C" void sinterShimSwitch(void **from, void *to);
asm(R"(
  .text
  .weak sinterShimSwitch
  .type sinterShimSwitch, %function
sinterShimSwitch:
  sub sp, sp, #176
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #176
  ret
)");
inline constexpr size_t kSavedWords = 11; // up to x30
#else
#error "fibers switch on x86-64 and ARM64 only"
#endif

inline void stop(State state) {
  Fiber &fiber = current();
  fiber.state = state;
  sinterShimSwitch(&fiber.stack, machine.scheduler);
}

inline void meetThreadgroup() {
  stop(State::AtThreadgroup);
}

// Shows `value` to the lanes of the simdgroup; what they all show, by lane.
template <typename T> inline T *exchange(const T &value) {
  static_assert(sizeof(T) <= kSlotBytes, "a slot has room for the value");
  Fiber &fiber = current();
  auto *slots = reinterpret_cast<T *>(machine.slots[fiber.simdgroup].bytes[fiber.meetings++ % 2]);
  slots[fiber.lane] = value;
  stop(State::AtSimdgroup);
  return slots;
}

inline void enter() {
  machine.program(machine.argument);
  stop(State::Ended);
}

inline void prepare(uint32_t index) {
  Fiber &fiber = machine.fibers[index];
  auto *top = reinterpret_cast<uintptr_t *>(machine.stacks + (index + 1) * kStackBytes);
#if defined(__x86_64__)
  *--top = 0; // enter() finds the stack as after a call
  *--top = reinterpret_cast<uintptr_t>(&enter);
  top -= kSavedWords;
#else
  top -= 22;
  top[kSavedWords] = reinterpret_cast<uintptr_t>(&enter);
#endif
  fiber = {top, index / kLanes, index % kLanes, State::Ready, 0};
}

// Runs the fibers of a simdgroup until they end or all wait for the threadgroup.
inline void runSimdgroup(uint32_t first, uint32_t count) {
  for (;;) {
    uint32_t seen[4] = {};
    for (uint32_t i = 0; i < count; ++i) {
      Fiber &fiber = machine.fibers[first + (machine.backwards ? count - 1 - i : i)];
      if (fiber.state == State::Ready) {
        machine.running = &fiber;
        sinterShimSwitch(&machine.scheduler, fiber.stack);
      }
      ++seen[static_cast<size_t>(fiber.state)];
    }
    for (uint32_t some : seen)
      if (some != 0 && some != count)
        die("threads of a simdgroup meet in different places");
    if (!seen[static_cast<size_t>(State::AtSimdgroup)])
      return;
    for (uint32_t i = 0; i < count; ++i)
      machine.fibers[first + i].state = State::Ready;
  }
}

// Calls `program` as each thread of one threadgroup.
inline void runThreadgroup(uint32_t threads) {
  if (!machine.stacks) {
    void *map = mmap(nullptr, kMostThreads * kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
      die("no memory for stacks");
    machine.stacks = static_cast<unsigned char *>(map);
  }
  for (uint32_t i = 0; i < threads; ++i)
    prepare(i);
  uint32_t width = threads < kLanes ? threads : kLanes, groups = threads / width;
  for (;;) {
    for (uint32_t i = 0; i < groups; ++i)
      runSimdgroup((machine.backwards ? groups - 1 - i : i) * width, width);
    uint32_t ended = 0;
    for (uint32_t i = 0; i < threads; ++i)
      ended += machine.fibers[i].state == State::Ended;
    if (ended == threads)
      return;
    if (ended != 0)
      die("threads end while others wait at a barrier");
    for (uint32_t i = 0; i < threads; ++i)
      machine.fibers[i].state = State::Ready;
  }
}

} // namespace metal_shim
