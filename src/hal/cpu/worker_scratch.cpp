// Growth of the threads' scratch memory.
#include "hal/cpu/worker_scratch.h"

namespace sinter::hal {

Result<void> WorkerScratch::reserve(uint64_t bytes) {
  if (bytes <= bytes_)
    return {};
  // An allocation for each thread, so that no two threads write to one page or cache line.
  std::vector<HostMemory> memory;
  for (uint32_t i = 0; i < threads_; ++i) {
    SINTER_ASSIGN(HostMemory own, HostMemory::allocate(bytes));
    memory.push_back(std::move(own));
  }
  memory_ = std::move(memory);
  for (uint32_t i = 0; i < threads_; ++i)
    pointers_[i] = memory_[i].data();
  bytes_ = bytes;
  return {};
}

} // namespace sinter::hal
