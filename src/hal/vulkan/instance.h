// One Vulkan instance and the devices that it shows.
#pragma once

#include "hal/vulkan/physical_device.h"
#include "hal/vulkan/vulkan_driver.h"

namespace sinter::hal::vulkan {

class Instance {
public:
  // NotFound, in one sentence: no loader, no driver, or no validation layer where that was asked.
  static Result<std::shared_ptr<Instance>> create(const VulkanOptions &options);
  ~Instance();
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;

  const InstanceFunctions &vk() const { return vk_; }
  // Those that the driver can use: discrete ones first, software last.
  const std::vector<PhysicalDevice> &devices() const { return usable_; }
  // "'NAME' lacks A, B; ..." for the others; empty where there are none.
  std::string unusableText() const;
  // A device hangs: what it still uses is never destroyed.
  void abandon() { abandoned_ = true; }

private:
  Instance() = default;
  Result<void> createHandle(const VulkanOptions &options);
  Result<void> listenTo(const VulkanOptions &options);
  Result<void> findDevices(const VulkanOptions &options);

  Loader loader_;
  InstanceFunctions vk_;
  VkInstance handle_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::vector<PhysicalDevice> usable_, unusable_;
  bool abandoned_ = false;
};

} // namespace sinter::hal::vulkan
