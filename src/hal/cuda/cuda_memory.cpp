// Transfers through pinned memory, as wide as the bus: while one segment moves, the next is filled.
#include "hal/cuda/cuda_memory.h"

#include <algorithm>
#include <cstring>

namespace sinter::hal::cuda {
namespace {

// A write that does not fit the rest of a segment is only split when the rest is worth a transfer.
constexpr uint64_t kLeastSplitBytes = 64 << 10;

} // namespace

Result<std::unique_ptr<CudaReadback>> CudaReadback::create(Context &context, uint64_t bytes) {
  SINTER_TRY(context.enter());
  std::unique_ptr<CudaReadback> readback(new CudaReadback(context, bytes));
  const Api &api = context.api();
  const OutsideOfCaptures outside(api);
  SINTER_TRY(
      context.check(api.eventCreate(&readback->done_, kEventDisableTiming), "cuEventCreate"));
  void *memory = nullptr;
  SINTER_TRY(
      context.check(api.memHostAlloc(&memory, std::max<uint64_t>(bytes, 1), kHostAllocDefault),
                    "cuMemHostAlloc"));
  readback->memory_ = static_cast<uint8_t *>(memory);
  return readback;
}

CudaReadback::~CudaReadback() {
  if (!context_.enterToRelease())
    return;
  // The device may still write the memory.
  if (done_)
    (void)context_.wait(done_);
  if (!context_.enterToRelease())
    return;
  const OutsideOfCaptures outside(context_.api());
  if (done_)
    context_.api().eventDestroy(done_);
  if (memory_)
    context_.api().memFreeHost(memory_);
}

Result<std::span<const uint8_t>> CudaReadback::wait() {
  SINTER_TRY(context_.enter());
  SINTER_TRY(context_.wait(done_)); // an event that was never recorded is done
  return std::span<const uint8_t>(memory_, bytes_);
}

Result<void> CudaReadback::begin(DevicePtr src, uint64_t bytes, uint64_t at, StreamHandle stream) {
  const Api &api = context_.api();
  SINTER_TRY(
      context_.check(api.memcpyDtoHAsync(memory_ + at, src, bytes, stream), "cuMemcpyDtoHAsync"));
  return context_.check(api.eventRecord(done_, stream), "cuEventRecord");
}

Result<void> StagingRing::create() {
  if (memory_)
    return {};
  const Api &api = context_.api();
  const OutsideOfCaptures outside(api);
  for (EventHandle &event : done_)
    if (!event)
      SINTER_TRY(context_.check(api.eventCreate(&event, kEventDisableTiming), "cuEventCreate"));
  void *memory = nullptr;
  SINTER_TRY(context_.check(api.memHostAlloc(&memory, kSegments * kSegmentBytes, kHostAllocDefault),
                            "cuMemHostAlloc"));
  memory_ = static_cast<uint8_t *>(memory);
  return {};
}

StagingRing::~StagingRing() {
  if (!context_.enterToRelease())
    return;
  const OutsideOfCaptures outside(context_.api());
  for (EventHandle event : done_)
    if (event)
      context_.api().eventDestroy(event);
  if (memory_)
    context_.api().memFreeHost(memory_);
}

Result<void> StagingRing::recordSegment() {
  return context_.check(context_.api().eventRecord(done_[current_], stream_), "cuEventRecord");
}

Result<void> StagingRing::advance() {
  SINTER_TRY(recordSegment());
  current_ = (current_ + 1) % kSegments;
  used_ = 0;
  // An event that was never recorded is done.
  return context_.wait(done_[current_]);
}

Result<void> StagingRing::write(DevicePtr dst, std::span<const uint8_t> bytes) {
  SINTER_TRY(create());
  while (!bytes.empty()) {
    uint64_t room = kSegmentBytes - used_;
    if (room < std::min<uint64_t>(bytes.size(), kLeastSplitBytes)) {
      SINTER_TRY(advance());
      room = kSegmentBytes;
    }
    const uint64_t step = std::min<uint64_t>(bytes.size(), room);
    uint8_t *staged = segment(current_) + used_;
    std::memcpy(staged, bytes.data(), step);
    // The transfer reads the bytes until the segment's event, even if this call fails.
    used_ += (step + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    SINTER_TRY(context_.check(context_.api().memcpyHtoDAsync(dst, staged, step, stream_),
                              "cuMemcpyHtoDAsync"));
    dst += step;
    bytes = bytes.subspan(step);
  }
  return {};
}

Result<void> StagingRing::read(std::span<uint8_t> bytes, DevicePtr src) {
  SINTER_TRY(create());
  std::span<uint8_t> pending; // what the segment before holds
  std::size_t pendingSegment = 0;
  while (!bytes.empty() || !pending.empty()) {
    const std::span<uint8_t> next = bytes.first(std::min<uint64_t>(bytes.size(), kSegmentBytes));
    if (!next.empty()) {
      SINTER_TRY(advance());
      used_ = kSegmentBytes;
      SINTER_TRY(context_.check(
          context_.api().memcpyDtoHAsync(segment(current_), src, next.size(), stream_),
          "cuMemcpyDtoHAsync"));
      SINTER_TRY(recordSegment());
    }
    if (!pending.empty()) {
      SINTER_TRY(context_.wait(done_[pendingSegment]));
      std::memcpy(pending.data(), segment(pendingSegment), pending.size());
    }
    pending = next;
    pendingSegment = current_;
    src += next.size();
    bytes = bytes.subspan(next.size());
  }
  return {};
}

} // namespace sinter::hal::cuda
