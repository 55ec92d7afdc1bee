// Streams and captured graphs of a Vulkan device.
#pragma once

#include "hal/vulkan/batch.h"
#include "hal/vulkan/timeline.h"

#include <vector>

namespace sinter::hal::vulkan {

// Command buffers recorded once. Waits for its last use when destroyed.
class VulkanGraph final : public Graph {
public:
  static Result<std::unique_ptr<VulkanGraph>> create(Memory &memory);
  ~VulkanGraph() override;

  // The batch that takes the next command, with room for so many bytes of arguments.
  Result<Batch *> batchFor(uint64_t argumentBytes);
  Result<void> finish();
  Result<void> submit(const std::shared_ptr<Timeline> &timeline) const;

private:
  explicit VulkanGraph(Memory &memory) : memory_(memory) {}
  struct Use {
    std::shared_ptr<Timeline> timeline;
    uint64_t number;
  };

  Memory &memory_;
  std::unique_ptr<CommandPool> pool_;
  std::vector<std::unique_ptr<Batch>> batches_;
  mutable std::vector<Use> uses_; // the last one on each stream
};

class VulkanReadback final : public Readback {
public:
  VulkanReadback(MemoryRange memory, uint64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  ~VulkanReadback() override;

  Result<std::span<const uint8_t>> wait() override;
  const MemoryRange &memory() const { return memory_; }
  uint64_t bytes() const { return bytes_; }
  void note(std::shared_ptr<Timeline> timeline) {
    timeline_ = std::move(timeline);
    number_ = timeline_->submitted();
  }

private:
  MemoryRange memory_;
  uint64_t bytes_;
  std::shared_ptr<Timeline> timeline_; // of the stream that fills it
  uint64_t number_ = 0;                // the last submission that does
};

class VulkanStream final : public Stream {
public:
  static Result<std::unique_ptr<VulkanStream>> create(Memory &memory, const DeviceInfo &info);
  ~VulkanStream() override;

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
  void endStep() override;
  Result<void> beginCapture() override;
  Result<std::unique_ptr<Graph>> endCapture() override;
  Result<void> submit(const Graph &graph) override;

private:
  struct Slot {
    std::unique_ptr<Batch> batch;
    uint64_t number = 0; // of its last submission
  };

  VulkanStream(Memory &memory, const DeviceInfo &info)
      : memory_(memory), context_(memory.context()), info_(info) {}
  Result<Batch *> batchFor(uint64_t argumentBytes);
  Result<void> openSlot();
  Result<void> flush();
  Result<bool> idle();
  Result<void> refuseWhileCapturing(const char *what) const;
  Result<std::array<int64_t, 3>> dispatchCounts(const Kernel &kernel, const Grid &grid) const;
  Result<void> ensureStaging();
  Result<void> stagedWrite(const MemoryRange &dst, uint64_t offset, std::span<const uint8_t> bytes);
  Result<void> stagedRead(const MemoryRange &src, uint64_t offset, std::span<uint8_t> bytes);

  Memory &memory_;
  Context &context_;
  const DeviceInfo &info_;
  std::unique_ptr<CommandPool> pool_;
  std::shared_ptr<Timeline> timeline_;
  std::vector<Slot> slots_;
  Slot *open_ = nullptr; // records
  std::unique_ptr<VulkanGraph> capture_;
  std::array<MemoryRange, 2> staging_;
  std::array<uint64_t, 2> stagingUse_ = {}; // the last submission that uses each
};

} // namespace sinter::hal::vulkan
