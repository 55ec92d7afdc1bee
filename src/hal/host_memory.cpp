// Host allocations: the heap for small ones, own mappings for others, on huge pages for large ones.
#include "hal/host_memory.h"

#include "base/checked.h"
#include "hal/cgroup.h"
#include "hal/hal.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace sinter::hal {
namespace {

constexpr uint64_t kHugePageBytes = uint64_t(2) << 20;

// Mapped memory is zero without being written, and what of it nobody writes takes none: a KV cache
// of 1,024 positions that holds 640 takes 15 MB instead of 24 (SmolLM2) or 21 instead of 34
// (Llama-3.2-1B's shape), in 32 to 60 buffers of 0.4 to 1 MiB.
constexpr uint64_t kLeastMappedBytes = uint64_t(1) << 16;

Fail noMemory(uint64_t bytes) {
  return fail(Code::Exhausted,
              "no memory for " + std::to_string(bytes) + " bytes: of " +
                  std::to_string(usableMemoryBytes()) + " that may be used, " +
                  std::to_string(sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE)) + " are free");
}

} // namespace

uint64_t usableMemoryBytes() {
  const auto machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(machine, cgroupLimits(kSystemRoot).memoryBytes.value_or(machine));
}

Result<HostMemory> HostMemory::allocate(uint64_t bytes) {
  if (bytes >= kLeastMappedBytes)
    return map(bytes);
  void *data = ::operator new(std::max<uint64_t>(bytes, 1), std::align_val_t(kBufferAlignment),
                              std::nothrow);
  if (!data)
    return noMemory(bytes);
  std::memset(data, 0, bytes);
  return HostMemory(static_cast<uint8_t *>(data), bytes, 0);
}

Result<HostMemory> HostMemory::map(uint64_t bytes) {
  const bool huge = bytes >= kHugePageBytes;
  const uint64_t unit = huge ? kHugePageBytes : static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  // The system may promise more than it has and end the process later; a request above all memory
  // is sure to fail.
  auto mapped = (alignUp(CheckedSize(bytes), unit) + unit).value();
  if (!mapped || (huge && bytes > usableMemoryBytes()))
    return noMemory(bytes);
  void *raw = mmap(nullptr, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED)
    return noMemory(bytes);
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t data = (begin + unit - 1) / unit * unit;
  const uint64_t kept = *mapped - unit;
  if (data != begin)
    munmap(raw, data - begin);
  if (data - begin != unit)
    munmap(reinterpret_cast<void *>(data + kept), unit - (data - begin));
  // Only advice: without huge pages the memory is as good, and slower. What is smaller than one,
  // and a last one in use in part, stays in small pages.
  const uint64_t whole = bytes / kHugePageBytes * kHugePageBytes;
  if (whole)
    (void)madvise(reinterpret_cast<void *>(data), whole, MADV_HUGEPAGE);
  if (whole < kept)
    (void)madvise(reinterpret_cast<void *>(data + whole), kept - whole, MADV_NOHUGEPAGE);
  return HostMemory(reinterpret_cast<uint8_t *>(data), bytes, kept);
}

HostMemory::HostMemory(HostMemory &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), mapped_(other.mapped_) {}

HostMemory &HostMemory::operator=(HostMemory &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

HostMemory::~HostMemory() {
  if (!data_)
    return;
  if (mapped_)
    munmap(data_, mapped_);
  else
    ::operator delete(data_, std::align_val_t(kBufferAlignment));
}

} // namespace sinter::hal
