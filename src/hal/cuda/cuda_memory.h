// Device memory of the cuda driver, and the pinned host memory that transfers go through.
#pragma once

#include "hal/cuda/cuda_context.h"

namespace sinter::hal::cuda {

class CudaBuffer final : public Buffer {
public:
  CudaBuffer(Context &context, DevicePtr address, uint64_t bytes)
      : Buffer(bytes, nullptr, false), context_(context), address_(address) {}
  ~CudaBuffer() override { context_.release(address_); }

  DevicePtr address() const { return address_; }

private:
  Context &context_;
  DevicePtr address_;
};

// Pinned memory that the device writes while the host goes on.
class CudaReadback final : public Readback {
public:
  static Result<std::unique_ptr<CudaReadback>> create(Context &context, uint64_t bytes);
  ~CudaReadback() override;

  Result<std::span<const uint8_t>> wait() override;
  Result<void> begin(DevicePtr src, uint64_t bytes, uint64_t at, StreamHandle stream);
  uint64_t bytes() const { return bytes_; }

private:
  CudaReadback(Context &context, uint64_t bytes) : context_(context), bytes_(bytes) {}

  Context &context_;
  uint64_t bytes_;
  uint8_t *memory_ = nullptr;
  EventHandle done_ = nullptr; // of the last transfer
};

// Transfers between host memory and the device in the order of one stream. Pinned memory, made at
// the first transfer, is cut into segments; many small writes share one.
class StagingRing {
public:
  StagingRing(Context &context, StreamHandle stream) : context_(context), stream_(stream) {}
  ~StagingRing();
  StagingRing(const StagingRing &) = delete;
  StagingRing &operator=(const StagingRing &) = delete;

  // The host bytes are free when the call returns; the device has them in the stream's order.
  Result<void> write(DevicePtr dst, std::span<const uint8_t> bytes);
  // The host bytes are there when the call returns.
  Result<void> read(std::span<uint8_t> bytes, DevicePtr src);

private:
  static constexpr std::size_t kSegments = 8;
  static constexpr uint64_t kSegmentBytes = uint64_t(2) << 20;

  Result<void> create();
  // Goes on to the next segment, once the transfers that used it are done.
  Result<void> advance();
  Result<void> recordSegment();
  uint8_t *segment(std::size_t index) { return memory_ + index * kSegmentBytes; }

  Context &context_;
  StreamHandle stream_;
  uint8_t *memory_ = nullptr;
  std::array<EventHandle, kSegments> done_ = {}; // of each segment's last transfer
  std::size_t current_ = 0;
  uint64_t used_ = 0; // bytes of the current segment
};

} // namespace sinter::hal::cuda
