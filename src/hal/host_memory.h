// Zeroed host memory for buffers of devices that work in the host's memory.
#pragma once

#include "base/status.h"

#include <span>

namespace sinter::hal {

// Owns an allocation; move-only. At least kBufferAlignment aligned; from 2 MiB on aligned to that,
// with whole huge pages offered to the system as such. From 64 KiB on memory is taken as it is
// first written.
class HostMemory {
public:
  // Exhausted, with the numbers, when the system refuses or the machine has less memory than that
  // in all.
  static Result<HostMemory> allocate(uint64_t bytes);

  HostMemory(HostMemory &&other) noexcept;
  HostMemory &operator=(HostMemory &&other) noexcept;
  ~HostMemory();

  uint8_t *data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

private:
  HostMemory(uint8_t *data, uint64_t bytes, uint64_t mapped)
      : data_(data), bytes_(bytes), mapped_(mapped) {}
  static Result<HostMemory> map(uint64_t bytes);

  uint8_t *data_;
  uint64_t bytes_;
  uint64_t mapped_; // bytes of the mapping that data_ begins; 0: from the heap
};

// The memory that this process may use: the machine's, or its control group's limit where that is
// lower.
uint64_t usableMemoryBytes();

} // namespace sinter::hal
