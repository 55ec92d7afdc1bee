// One opened Vulkan device: its functions, its queue, and whether it is lost.
#pragma once

#include "hal/vulkan/instance.h"

namespace sinter::hal::vulkan {

// Push constants of every kernel, of 64 bits each: no device has room for fewer.
inline constexpr uint32_t kPushWords = 16;

class Context {
public:
  // `watchdogNs` bounds the wait for one submission; 0: none.
  static Result<std::unique_ptr<Context>> create(std::shared_ptr<Instance> instance,
                                                 const PhysicalDevice &device, bool mapped,
                                                 uint64_t watchdogNs);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const DeviceFunctions &vk() const { return vk_; }
  VkDevice handle() const { return handle_; }
  VkQueue queue() const { return queue_; }
  VkPipelineLayout layout() const { return layout_; } // push constants of kPushWords words
  VkPipelineCache cache() const { return cache_; }
  const PhysicalDevice &physical() const { return physical_; }
  // Of the device's memory, what no program holds now.
  std::optional<uint64_t> freeBytes() const;
  bool mapped() const { return mapped_; } // the host sees the buffers
  uint64_t watchdogNs() const { return watchdogNs_; }

  // The error of a failed call; a lost device is remembered.
  Result<void> check(VkResult result, const char *call);
  // DeviceLost, in the words of the first time, once the device is lost.
  Result<void> alive() const;
  // The device hangs: it is lost, and nothing that it may still use can be destroyed.
  Fail abandon(std::string message);
  bool abandoned() const { return abandoned_; }

private:
  Context(std::shared_ptr<Instance> instance, const PhysicalDevice &device, bool mapped,
          uint64_t watchdogNs)
      : instance_(std::move(instance)), physical_(device), mapped_(mapped),
        watchdogNs_(watchdogNs) {}
  Result<void> createHandle();
  Result<void> createPipelineParts();

  std::shared_ptr<Instance> instance_;
  PhysicalDevice physical_;
  bool mapped_;
  uint64_t watchdogNs_;
  DeviceFunctions vk_;
  VkDevice handle_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::string lost_; // why; empty while it is not
  bool abandoned_ = false;
};

} // namespace sinter::hal::vulkan
