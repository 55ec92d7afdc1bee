// The cuda driver's streams, events and captured graphs.
#pragma once

#include "hal/cuda/cuda_memory.h"

namespace sinter::hal::cuda {

class CudaEvent final : public Event {
public:
  static Result<std::unique_ptr<CudaEvent>> create(Context &context);
  ~CudaEvent() override;

  Result<uint64_t> nanosecondsSince(const Event &start) const override;
  Result<void> record(StreamHandle stream);

private:
  explicit CudaEvent(Context &context) : context_(context) {}

  Context &context_;
  EventHandle handle_ = nullptr;
  bool recorded_ = false;
};

class CudaGraph final : public Graph {
public:
  CudaGraph(Context &context, GraphExecHandle handle) : context_(context), handle_(handle) {}
  ~CudaGraph() override;

  GraphExecHandle handle() const { return handle_; }

private:
  Context &context_;
  GraphExecHandle handle_;
};

// Launches neither allocate nor lock. Commands that the device fails at are reported by
// synchronize() or a later call, which the driver library decides.
class CudaStream final : public Stream {
public:
  static Result<std::unique_ptr<CudaStream>> create(Context &context);
  ~CudaStream() override;

  Result<void> launch(const Kernel &kernel, const Grid &grid,
                      std::span<const BufferBinding> buffers,
                      std::span<const int64_t> scalars) override;
  Result<void> copy(Buffer &dst, uint64_t dstOffset, const Buffer &src, uint64_t srcOffset,
                    uint64_t bytes) override;
  Result<void> fill(Buffer &dst, uint64_t offset, uint64_t bytes, uint8_t value) override;
  Result<void> write(Buffer &dst, uint64_t offset, std::span<const uint8_t> bytes) override;
  Result<void> read(const Buffer &src, uint64_t offset, std::span<uint8_t> bytes) override;
  Result<void> beginRead(const Buffer &src, uint64_t offset, uint64_t bytes, Readback &into,
                         uint64_t at) override;
  Result<void> record(Event &event) override;
  Result<void> synchronize() override;
  Result<void> beginCapture() override;
  Result<std::unique_ptr<Graph>> endCapture() override;
  Result<void> submit(const Graph &graph) override;

private:
  CudaStream(Context &context, StreamHandle handle)
      : context_(context), handle_(handle), staging_(context, handle) {}
  // InvalidArgument while commands are captured.
  Result<void> notCaptured(const char *what) const;
  Fail launchFailed(const Kernel &kernel, Status why) const;

  Context &context_;
  StreamHandle handle_;
  StagingRing staging_;
  bool capturing_ = false;
};

} // namespace sinter::hal::cuda
