// A compiled CPU kernel run over its grid with every argument and its scratch against an unmapped
// page: here and, by the emulated runner, for another architecture.
#pragma once

#include "hal/cpu/cpu_module.h"
#include "targets/guarded_memory.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace sinter::targets::cpu {

struct GuardedView {
  std::string name;
  std::vector<uint8_t> bytes; // what the kernel finds, then what it leaves
  size_t alignment = 1;       // of its elements
  bool written = false;       // by the kernel; else writes fault
};

struct GuardedLaunch {
  std::vector<GuardedView> views;
  std::vector<int64_t> scalars;
  uint64_t scratchBytes = 0;
  std::array<int64_t, 3> grid{};
};

// Runs the kernel with `end` of everything guarded. What went wrong, in words; empty where nothing
// did.
inline std::string launchGuarded(GuardedLaunch &launch, hal::CpuKernelFunction function,
                                 GuardedEnd end) {
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<void *> pointers;
  for (const GuardedView &view : launch.views) {
    memory.push_back(std::make_unique<GuardedMemory>(view.bytes.size(), end, view.alignment));
    pointers.push_back(memory.back()->data());
    if (!view.bytes.empty())
      std::memcpy(memory.back()->data(), view.bytes.data(), view.bytes.size());
    if (!view.written)
      memory.back()->protect();
  }
  GuardedMemory scratch(launch.scratchBytes, end, 64);
  std::memset(scratch.data(), 0xff, launch.scratchBytes);
  const int signal = signalOf([&] {
    for (int64_t z = 0; z < launch.grid[2]; ++z)
      for (int64_t y = 0; y < launch.grid[1]; ++y)
        for (int64_t x = 0; x < launch.grid[0]; ++x)
          function(pointers.data(), launch.scalars.data(), scratch.data(), x, y, z);
  });
  if (signal)
    return "compiled code died of signal " + std::to_string(signal) + " (" + strsignal(signal) +
           ")";
  if (!scratch.zonesUntouched())
    return "compiled code wrote outside its scratch";
  for (size_t i = 0; i < launch.views.size(); ++i) {
    if (!memory[i]->zonesUntouched())
      return "compiled code wrote outside view '" + launch.views[i].name + "'";
    launch.views[i].bytes.assign(memory[i]->bytes().begin(), memory[i]->bytes().end());
  }
  return {};
}

} // namespace sinter::targets::cpu
