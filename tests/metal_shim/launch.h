// Launches of kernels that were compiled against the shim: a C function for each, which runs its
// grid.
#pragma once

#include "metal_shim/stdlib.h"

namespace metal_shim {

struct Launch {
  const void *arguments;
  int64_t grid[3];
  uint32_t threads;
  uint32_t sharedBytes;
  bool backwards; // threads and programs in the opposite order
};

template <typename F> inline void run(const Launch &launch, F call) {
  struct State {
    F call;
    uint3 program;
  } state{call, uint3(0)};
  machine.backwards = launch.backwards;
  machine.argument = &state;
  machine.program = [](void *argument) {
    auto &now = *static_cast<State *>(argument);
    now.call(now.program, current().simdgroup, current().lane);
  };
  int64_t count = launch.grid[0] * launch.grid[1] * launch.grid[2];
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = launch.backwards ? count - 1 - i : i;
    state.program = uint3(uint(at % launch.grid[0]), uint(at / launch.grid[0] % launch.grid[1]),
                          uint(at / launch.grid[0] / launch.grid[1]));
    runThreadgroup(launch.threads);
  }
}

template <typename A>
inline void launchKernel(void (*program)(const A &, uint3, uint, uint), const Launch &launch) {
  run(launch, [&](uint3 at, uint simdgroup, uint lane) {
    program(*static_cast<const A *>(launch.arguments), at, simdgroup, lane);
  });
}

// Threadgroup memory begins as anything; what lies beyond it is checked.
template <typename A>
inline void launchKernel(void (*program)(const A &, uint3, uint, uint, uchar *),
                         const Launch &launch) {
  static constexpr uchar kNothing = 0xcd;
  alignas(16) static uchar shared[(32 << 10) + 64];
  std::memset(shared, kNothing, sizeof shared);
  run(launch, [&](uint3 at, uint simdgroup, uint lane) {
    program(*static_cast<const A *>(launch.arguments), at, simdgroup, lane, shared);
  });
  for (size_t i = launch.sharedBytes; i < sizeof shared; ++i)
    if (shared[i] != kNothing)
      die("a kernel wrote beyond its threadgroup memory");
}

} // namespace metal_shim

#define SINTER_SHIM_KERNEL(name)                                                                   \
  extern "C" __attribute__((visibility("default"))) void run_##name(                               \
      const metal_shim::Launch *launch) {                                                          \
    metal_shim::launchKernel(name, *launch);                                                       \
  }
