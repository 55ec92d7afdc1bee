// Scratch memory of each of a device's threads, as large as the most demanding kernel loaded so
// far.
#pragma once

#include "hal/host_memory.h"

#include <vector>

namespace sinter::hal {

class WorkerScratch {
public:
  explicit WorkerScratch(uint32_t threads) : threads_(threads), pointers_(threads, nullptr) {}

  // Makes every thread's scratch at least that large; not while a launch runs. Exhausted when there
  // is no memory.
  Result<void> reserve(uint64_t bytes);

  // One pointer per thread; null where nothing was reserved.
  uint8_t *const *pointers() const { return pointers_.data(); }

private:
  uint32_t threads_;
  uint64_t bytes_ = 0;
  std::vector<HostMemory> memory_;
  std::vector<uint8_t *> pointers_;
};

} // namespace sinter::hal
