// Opening and losing of a Vulkan device.
#include "hal/vulkan/context.h"

namespace sinter::hal::vulkan {

Result<std::unique_ptr<Context>> Context::create(std::shared_ptr<Instance> instance,
                                                 const PhysicalDevice &device, bool mapped,
                                                 uint64_t watchdogNs) {
  std::unique_ptr<Context> context(new Context(std::move(instance), device, mapped, watchdogNs));
  SINTER_TRY(context->createHandle());
  SINTER_TRY(context->createPipelineParts());
  return context;
}

Result<void> Context::createHandle() {
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue = {};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = physical_.queueFamily;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  const Abilities &abilities = physical_.abilities;
  Features features(physical_.apiVersion, abilities.cooperative, abilities.bfloat16);
  enableFeatures(abilities, features);
  const auto extensions = extensionsOf(abilities);
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  SINTER_TRY(check(instance_->vk().vkCreateDevice(physical_.handle, &info, nullptr, &handle_),
                   "vkCreateDevice"));
  SINTER_ASSIGN(vk_, loadDevice(instance_->vk(), handle_));
  vk_.vkGetDeviceQueue(handle_, physical_.queueFamily, 0, &queue_);
  return {};
}

Result<void> Context::createPipelineParts() {
  VkPushConstantRange constants = {};
  constants.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  constants.size = kPushWords * sizeof(uint64_t);
  VkPipelineLayoutCreateInfo layout = {};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &constants;
  SINTER_TRY(check(vk_.vkCreatePipelineLayout(handle_, &layout, nullptr, &layout_),
                   "vkCreatePipelineLayout"));
  VkPipelineCacheCreateInfo cache = {};
  cache.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  return check(vk_.vkCreatePipelineCache(handle_, &cache, nullptr, &cache_),
               "vkCreatePipelineCache");
}

Context::~Context() {
  // Without its functions the handle cannot be destroyed either: loadDevice failed.
  if (abandoned_ || !vk_.vkDestroyDevice)
    return;
  if (cache_)
    vk_.vkDestroyPipelineCache(handle_, cache_, nullptr);
  if (layout_)
    vk_.vkDestroyPipelineLayout(handle_, layout_, nullptr);
  vk_.vkDestroyDevice(handle_, nullptr);
}

std::optional<uint64_t> Context::freeBytes() const {
  if (!alive())
    return std::nullopt;
  return vulkan::freeBytes(instance_->vk(), physical_);
}

Result<void> Context::check(VkResult result, const char *call) {
  if (result == VK_SUCCESS) [[likely]]
    return {};
  Fail failed = callFailed(call, result);
  failed.value().message = "device '" + physical_.name + "': " + failed.value().message;
  if (result == VK_ERROR_DEVICE_LOST && lost_.empty())
    lost_ = failed.value().message;
  return failed;
}

Result<void> Context::alive() const {
  if (lost_.empty()) [[likely]]
    return {};
  return fail(Code::DeviceLost, lost_);
}

Fail Context::abandon(std::string message) {
  if (lost_.empty())
    lost_ = std::move(message);
  abandoned_ = true;
  instance_->abandon();
  return fail(Code::DeviceLost, lost_);
}

} // namespace sinter::hal::vulkan
