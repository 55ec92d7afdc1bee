// Threads of a threadgroup as fibers of one host thread: each runs until it must meet others, and
// goes on when they have come. Threads that meet in different places are an error, not a hang.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>

namespace metal_shim {

inline constexpr uint32_t kMostThreads = 1024, kLanes = 32, kSlotBytes = 16;
inline constexpr size_t kStackBytes = 256 << 10;

// Where a fiber goes on, and switching from one to another.
#if defined(__x86_64__)
struct Context {
  void *stack = nullptr; // on top of it what a call must keep
};

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

inline void switchContext(Context &from, Context &to) {
  sinterShimSwitch(&from.stack, to.stack);
}

inline void prepareContext(Context &context, unsigned char *stack, size_t bytes, void (*entry)()) {
  static constexpr size_t kSavedWords = 6;
  auto *top = reinterpret_cast<uintptr_t *>(stack + bytes);
  *--top = 0; // the entry finds the stack as after a call
  *--top = reinterpret_cast<uintptr_t>(entry);
  context.stack = top - kSavedWords;
}
#else
struct Context {
  ucontext_t state;
};

inline void switchContext(Context &from, Context &to) {
  swapcontext(&from.state, &to.state);
}

inline void prepareContext(Context &context, unsigned char *stack, size_t bytes, void (*entry)()) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack;
  context.state.uc_stack.ss_size = bytes;
  context.state.uc_link = nullptr;
  makecontext(&context.state, entry, 0);
}
#endif

enum class State : uint8_t { Ready, AtSimdgroup, AtThreadgroup, Ended };

struct Fiber {
  Context context;
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
  Context scheduler;
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

inline void stop(State state) {
  Fiber &fiber = current();
  fiber.state = state;
  switchContext(fiber.context, machine.scheduler);
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
  fiber.simdgroup = index / kLanes;
  fiber.lane = index % kLanes;
  fiber.state = State::Ready;
  fiber.meetings = 0;
  prepareContext(fiber.context, machine.stacks + index * kStackBytes, kStackBytes, enter);
}

// Runs the fibers of a simdgroup until they end or all wait for the threadgroup.
inline void runSimdgroup(uint32_t first, uint32_t count) {
  for (;;) {
    uint32_t seen[4] = {};
    for (uint32_t i = 0; i < count; ++i) {
      Fiber &fiber = machine.fibers[first + (machine.backwards ? count - 1 - i : i)];
      if (fiber.state == State::Ready) {
        machine.running = &fiber;
        switchContext(machine.scheduler, fiber.context);
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
