// Memory of a Vulkan device: few large allocations, each one VkBuffer, out of which ranges are
// given.
#pragma once

#include "hal/vulkan/context.h"

#include <map>
#include <vector>

namespace sinter::hal::vulkan {

enum class MemoryUse : uint8_t {
  Device,  // what kernels work on; host-visible where Context::mapped()
  Upload,  // small things that the host writes and kernels read: argument blocks
  Staging, // between the host and device memory
};

struct MemoryBlock {
  MemoryUse use = MemoryUse::Device;
  uint64_t bytes = 0;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;
  uint8_t *host = nullptr;
  std::map<uint64_t, uint64_t> free; // offset to bytes; neighbours are merged
};

class Memory;

// A range of a block, given back at destruction. Aligned to 256 bytes.
class MemoryRange {
public:
  MemoryRange() = default;
  MemoryRange(MemoryRange &&other) noexcept { swap(other); }
  MemoryRange &operator=(MemoryRange &&other) noexcept {
    MemoryRange taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~MemoryRange();

  VkBuffer buffer() const { return buffer_; }
  uint64_t offset() const { return offset_; } // in the buffer
  uint64_t bytes() const { return bytes_; }
  VkDeviceAddress address() const { return address_; }
  uint8_t *host() const { return host_; } // none where the host does not see it

private:
  friend class Memory;
  void swap(MemoryRange &other) noexcept;

  Memory *memory_ = nullptr;
  MemoryBlock *block_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  uint64_t offset_ = 0;
  uint64_t bytes_ = 0;
  VkDeviceAddress address_ = 0;
  uint8_t *host_ = nullptr;
};

// Outlives its ranges.
class Memory {
public:
  explicit Memory(Context &context) : context_(context) {}
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  Context &context() const { return context_; }

  // At least `bytes` and one; contents are what was there. Exhausted, with the numbers.
  Result<MemoryRange> allocate(MemoryUse use, uint64_t bytes);

private:
  friend class MemoryRange;
  Result<MemoryBlock *> createBlock(MemoryUse use, uint64_t bytes);
  Result<void> fillBlock(MemoryBlock &block, MemoryUse use, uint64_t bytes);
  VkResult takeMemory(MemoryBlock &block, MemoryUse use, const VkMemoryRequirements &needed);
  void destroyBlock(MemoryBlock &block);
  void release(MemoryRange &range);
  MemoryRange rangeOf(MemoryBlock &block, uint64_t offset, uint64_t bytes);
  Fail exhausted(uint64_t bytes) const;

  Context &context_;
  std::vector<std::unique_ptr<MemoryBlock>> blocks_;
  uint64_t takenBytes_ = 0; // in all blocks
};

} // namespace sinter::hal::vulkan
