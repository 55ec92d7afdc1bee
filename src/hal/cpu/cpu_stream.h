// The cpu driver's stream and events.
#pragma once

#include "hal/cpu/thread_pool.h"
#include "hal/cpu/worker_scratch.h"
#include "hal/hal.h"

#include <chrono>

namespace sinter::hal {

class CpuEvent final : public Event {
public:
  Result<uint64_t> nanosecondsSince(const Event &start) const override;
  void record() { time_ = std::chrono::steady_clock::now(); }

private:
  std::optional<std::chrono::steady_clock::time_point> time_;
};

// Runs each command at once on the pool's threads, which are shared with the device's other
// streams.
class CpuStream final : public Stream {
public:
  CpuStream(const DeviceInfo &info, ThreadPool &pool, const WorkerScratch &scratch)
      : info_(info), pool_(pool), scratch_(scratch) {}

  Result<void> launch(const Kernel &kernel, const Grid &grid,
                      std::span<const BufferBinding> buffers,
                      std::span<const int64_t> scalars) override;
  Result<void> copy(Buffer &dst, uint64_t dstOffset, const Buffer &src, uint64_t srcOffset,
                    uint64_t bytes) override;
  Result<void> fill(Buffer &dst, uint64_t offset, uint64_t bytes, uint8_t value) override;
  Result<void> write(Buffer &dst, uint64_t offset, std::span<const uint8_t> bytes) override;
  Result<void> read(const Buffer &src, uint64_t offset, std::span<uint8_t> bytes) override;
  Result<void> record(Event &event) override;
  Result<void> synchronize() override { return {}; }
  void expect(const BufferBinding &from, uint64_t bytes) override {
    pool_.expect(from.buffer->host().subspan(from.offset, bytes));
  }
  void beginStep() override { pool_.enterStep(); }
  void endStep() override { pool_.leaveStep(); }
  Result<void> beginCapture() override { return unsupported(info_, Feature::CapturedGraph); }
  Result<std::unique_ptr<Graph>> endCapture() override {
    return unsupported(info_, Feature::CapturedGraph);
  }
  Result<void> submit(const Graph &) override { return unsupported(info_, Feature::CapturedGraph); }

private:
  void copyBytes(uint8_t *dst, const uint8_t *src, uint64_t bytes);

  const DeviceInfo &info_;
  ThreadPool &pool_;
  const WorkerScratch &scratch_;
};

} // namespace sinter::hal
