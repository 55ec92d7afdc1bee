// Launches as ranges of grid points on the pool's threads; copies and fills in parallel blocks.
#include "hal/cpu/cpu_stream.h"

#include "base/checked.h"
#include "hal/cpu/cpu_module.h"

#include <algorithm>
#include <cstring>

namespace sinter::hal {
namespace {

// One thread's share of a copy: a few memory pages, so that small copies stay on the caller.
constexpr uint64_t kCopyBlockBytes = 256 << 10;

struct LaunchJob {
  CpuKernelFunction function;
  void *const *buffers;
  const int64_t *scalars;
  uint8_t *const *scratch;
  int64_t xExtent, yExtent;
};

void runPoints(void *context, uint32_t thread, int64_t first, int64_t last) {
  const LaunchJob job = *static_cast<const LaunchJob *>(context);
  void *scratch = job.scratch[thread];
  int64_t x = first % job.xExtent;
  int64_t y = first / job.xExtent % job.yExtent;
  int64_t z = first / job.xExtent / job.yExtent;
  for (int64_t point = first; point < last; ++point) {
    job.function(job.buffers, job.scalars, scratch, x, y, z);
    if (++x < job.xExtent)
      continue;
    x = 0;
    if (++y == job.yExtent) {
      y = 0;
      ++z;
    }
  }
}

struct BlockJob {
  uint8_t *dst;
  const uint8_t *src; // null: fill
  uint64_t bytes;
  uint8_t value;
};

void runBlocks(void *context, uint32_t, int64_t first, int64_t last) {
  const BlockJob &job = *static_cast<const BlockJob *>(context);
  const uint64_t begin = static_cast<uint64_t>(first) * kCopyBlockBytes;
  const uint64_t end = std::min(static_cast<uint64_t>(last) * kCopyBlockBytes, job.bytes);
  if (job.src)
    std::memcpy(job.dst + begin, job.src + begin, end - begin);
  else
    std::memset(job.dst + begin, job.value, end - begin);
}

int64_t blockCount(uint64_t bytes) {
  return static_cast<int64_t>(bytes / kCopyBlockBytes + (bytes % kCopyBlockBytes != 0));
}

} // namespace

Result<uint64_t> CpuEvent::nanosecondsSince(const Event &start) const {
  const auto &from = static_cast<const CpuEvent &>(start);
  if (!time_ || !from.time_)
    return fail(Code::InvalidArgument, "an event was not recorded before its time was asked for");
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(*time_ - *from.time_);
  return static_cast<uint64_t>(std::max<int64_t>(elapsed.count(), 0));
}

Result<void> CpuStream::launch(const Kernel &kernel, const Grid &grid,
                               std::span<const BufferBinding> buffers,
                               std::span<const int64_t> scalars) {
  SINTER_TRY(checkLaunch(kernel, grid, buffers, scalars));
  std::array<void *, kMaxBindings> addresses;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    addresses[i] = buffers[i].buffer->host().data() + buffers[i].offset;
  LaunchJob job{static_cast<const CpuKernel &>(kernel).function(),
                addresses.data(),
                scalars.data(),
                scratch_.pointers(),
                grid[0],
                grid[1]};
  pool_.run(grid[0] * grid[1] * grid[2], runPoints, &job);
  return {};
}

void CpuStream::copyBytes(uint8_t *dst, const uint8_t *src, uint64_t bytes) {
  BlockJob job{dst, src, bytes, 0};
  pool_.run(blockCount(bytes), runBlocks, &job);
}

Result<void> CpuStream::copy(Buffer &dst, uint64_t dstOffset, const Buffer &src, uint64_t srcOffset,
                             uint64_t bytes) {
  SINTER_TRY(checkCopy(dst, dstOffset, src, srcOffset, bytes));
  copyBytes(dst.host().data() + dstOffset, src.host().data() + srcOffset, bytes);
  return {};
}

Result<void> CpuStream::fill(Buffer &dst, uint64_t offset, uint64_t bytes, uint8_t value) {
  SINTER_TRY(checkWritable(dst, "fill"));
  SINTER_TRY(checkRange(dst, offset, bytes, "fill"));
  BlockJob job{dst.host().data() + offset, nullptr, bytes, value};
  pool_.run(blockCount(bytes), runBlocks, &job);
  return {};
}

Result<void> CpuStream::write(Buffer &dst, uint64_t offset, std::span<const uint8_t> bytes) {
  SINTER_TRY(checkWritable(dst, "write"));
  SINTER_TRY(checkRange(dst, offset, bytes.size(), "write"));
  copyBytes(dst.host().data() + offset, bytes.data(), bytes.size());
  return {};
}

Result<void> CpuStream::read(const Buffer &src, uint64_t offset, std::span<uint8_t> bytes) {
  SINTER_TRY(checkRange(src, offset, bytes.size(), "read"));
  copyBytes(bytes.data(), src.host().data() + offset, bytes.size());
  return {};
}

Result<void> CpuStream::record(Event &event) {
  static_cast<CpuEvent &>(event).record();
  return {};
}

} // namespace sinter::hal
