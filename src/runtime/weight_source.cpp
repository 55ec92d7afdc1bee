// Giving pages of a mapped file back.
#include "runtime/weight_source.h"

#include <sys/mman.h>
#include <unistd.h>

namespace sinter::runtime {

void dropMappedPages(std::span<const uint8_t> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = (address + page - 1) / page * page;
  const uintptr_t end = (address + bytes.size()) / page * page;
  if (first < end)
    (void)madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);
}

} // namespace sinter::runtime
