// One recorded command buffer with the memory of its commands' arguments: what is submitted at
// once.
#pragma once

#include "hal/vulkan/memory.h"
#include "hal/vulkan/vulkan_module.h"

namespace sinter::hal::vulkan {

inline constexpr uint32_t kMaxScalars = 1024; // of one kernel
// Of one submission, so that a display's or our own watchdog sees progress between them.
inline constexpr uint32_t kMaxCommands = 64;

class VulkanBuffer final : public Buffer {
public:
  VulkanBuffer(uint64_t bytes, MemoryRange range)
      : Buffer(bytes, range.host(), false), range_(std::move(range)) {}
  const MemoryRange &range() const { return range_; }

private:
  MemoryRange range_;
};

// A time stamp.
class VulkanEvent final : public Event {
public:
  static Result<std::unique_ptr<VulkanEvent>> create(Context &context, const DeviceInfo &info);
  ~VulkanEvent() override;

  Result<uint64_t> nanosecondsSince(const Event &start) const override;
  VkQueryPool pool() const { return pool_; }
  void noteRecorded() { recorded_ = true; }

private:
  VulkanEvent(Context &context, const DeviceInfo &info) : context_(context), info_(info) {}
  Result<uint64_t> ticks() const;

  Context &context_;
  const DeviceInfo &info_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  bool recorded_ = false;
};

// Where command buffers come from.
class CommandPool {
public:
  static Result<std::unique_ptr<CommandPool>> create(Context &context);
  ~CommandPool();
  CommandPool(const CommandPool &) = delete;
  CommandPool &operator=(const CommandPool &) = delete;

  Result<VkCommandBuffer> allocate();

private:
  explicit CommandPool(Context &context) : context_(context) {}

  Context &context_;
  VkCommandPool handle_ = VK_NULL_HANDLE;
};

// One dispatch of a launch.
struct Dispatch {
  const VulkanKernel *kernel;
  Grid grid; // of the whole launch
  Grid base;
  Grid groups; // within the device's limits
  std::span<const BufferBinding> buffers;
  std::span<const int64_t> scalars;
};

// Commands see what the ones before them wrote, in this batch and in those submitted before.
class Batch {
public:
  // The pool outlives the batch.
  static Result<std::unique_ptr<Batch>> create(Memory &memory, CommandPool &pool);

  // Starts anew; what it held is not in use any more. `repeated`: it will be submitted several
  // times.
  Result<void> begin(bool repeated);
  // The commands are complete, and the host sees what they wrote.
  Result<void> end();

  bool empty() const { return commands_ == 0; }
  // Whether one more command with so many bytes of arguments fits.
  bool hasRoom(uint64_t argumentBytes) const;
  static uint64_t argumentBytes(const KernelSpec &spec);

  // Each is one command and wants room. `ordered`: after the commands before it.
  void dispatch(const Dispatch &dispatch, bool ordered);
  void copy(const MemoryRange &dst, uint64_t dstOffset, const MemoryRange &src, uint64_t srcOffset,
            uint64_t bytes);
  // At most kMaxCommands * 8 bytes of arguments are needed for a fill.
  void fill(const MemoryRange &dst, uint64_t offset, uint64_t bytes, uint8_t value);
  void write(const MemoryRange &dst, uint64_t offset, std::span<const uint8_t> bytes);
  void stamp(const VulkanEvent &event);

  VkCommandBuffer handle() const { return handle_; }
  uint32_t dispatches() const { return dispatches_; }
  const std::string &lastSymbol() const { return lastSymbol_; }

private:
  Batch(Context &context, VkCommandBuffer handle, MemoryRange arena)
      : context_(context), handle_(handle), arena_(std::move(arena)) {}
  // Commands from here on, of stage `next`, come after those before.
  void order(VkPipelineStageFlags next);
  void copyRange(VkBuffer dst, uint64_t dstOffset, VkBuffer src, uint64_t srcOffset,
                 uint64_t bytes);
  uint64_t take(uint64_t bytes);

  Context &context_;
  VkCommandBuffer handle_;
  MemoryRange arena_;
  uint64_t used_ = 0; // of the arena
  VkPipelineStageFlags unordered_ = 0; // stages of commands that nothing comes after yet
  uint32_t commands_ = 0;
  uint32_t dispatches_ = 0;
  std::string lastSymbol_;
};

} // namespace sinter::hal::vulkan
