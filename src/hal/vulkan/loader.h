// The system's Vulkan loader, opened at run time, and the functions that the driver calls through
// it.
#pragma once

#include "base/status.h"

#include <memory>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#define SINTER_VK_GLOBAL_FUNCTIONS(X)                                                              \
  X(vkCreateInstance)                                                                              \
  X(vkEnumerateInstanceExtensionProperties)                                                        \
  X(vkEnumerateInstanceLayerProperties)                                                            \
  X(vkEnumerateInstanceVersion)

#define SINTER_VK_INSTANCE_FUNCTIONS(X)                                                            \
  X(vkCreateDevice)                                                                                \
  X(vkDestroyInstance)                                                                             \
  X(vkEnumerateDeviceExtensionProperties)                                                          \
  X(vkEnumeratePhysicalDevices)                                                                    \
  X(vkGetDeviceProcAddr)                                                                           \
  X(vkGetPhysicalDeviceFeatures2)                                                                  \
  X(vkGetPhysicalDeviceMemoryProperties)                                                           \
  X(vkGetPhysicalDeviceMemoryProperties2)                                                          \
  X(vkGetPhysicalDeviceProperties)                                                                 \
  X(vkGetPhysicalDeviceProperties2)                                                                \
  X(vkGetPhysicalDeviceQueueFamilyProperties)

#define SINTER_VK_DEVICE_FUNCTIONS(X)                                                              \
  X(vkAllocateCommandBuffers)                                                                      \
  X(vkAllocateMemory)                                                                              \
  X(vkBeginCommandBuffer)                                                                          \
  X(vkBindBufferMemory)                                                                            \
  X(vkCmdBindPipeline)                                                                             \
  X(vkCmdCopyBuffer)                                                                               \
  X(vkCmdDispatch)                                                                                 \
  X(vkCmdFillBuffer)                                                                               \
  X(vkCmdPipelineBarrier)                                                                          \
  X(vkCmdPushConstants)                                                                            \
  X(vkCmdResetQueryPool)                                                                           \
  X(vkCmdWriteTimestamp)                                                                           \
  X(vkCreateBuffer)                                                                                \
  X(vkCreateCommandPool)                                                                           \
  X(vkCreateComputePipelines)                                                                      \
  X(vkCreatePipelineCache)                                                                         \
  X(vkCreatePipelineLayout)                                                                        \
  X(vkCreateQueryPool)                                                                             \
  X(vkCreateSemaphore)                                                                             \
  X(vkCreateShaderModule)                                                                          \
  X(vkDestroyBuffer)                                                                               \
  X(vkDestroyCommandPool)                                                                          \
  X(vkDestroyDevice)                                                                               \
  X(vkDestroyPipeline)                                                                             \
  X(vkDestroyPipelineCache)                                                                        \
  X(vkDestroyPipelineLayout)                                                                       \
  X(vkDestroyQueryPool)                                                                            \
  X(vkDestroySemaphore)                                                                            \
  X(vkDestroyShaderModule)                                                                         \
  X(vkEndCommandBuffer)                                                                            \
  X(vkFreeMemory)                                                                                  \
  X(vkGetBufferDeviceAddress)                                                                      \
  X(vkGetBufferMemoryRequirements)                                                                 \
  X(vkGetDeviceQueue)                                                                              \
  X(vkGetQueryPoolResults)                                                                         \
  X(vkGetSemaphoreCounterValue)                                                                    \
  X(vkMapMemory)                                                                                   \
  X(vkQueueSubmit)                                                                                 \
  X(vkResetQueryPool)                                                                              \
  X(vkWaitSemaphores)

namespace sinter::hal::vulkan {

#define SINTER_VK_MEMBER(name) PFN_##name name = nullptr;
struct GlobalFunctions {
  SINTER_VK_GLOBAL_FUNCTIONS(SINTER_VK_MEMBER)
};
struct InstanceFunctions {
  SINTER_VK_INSTANCE_FUNCTIONS(SINTER_VK_MEMBER)
};
struct DeviceFunctions {
  SINTER_VK_DEVICE_FUNCTIONS(SINTER_VK_MEMBER)
};
#undef SINTER_VK_MEMBER

// The loader stays in the process once opened: drivers behind it leave threads and exit handlers.
struct Loader {
  GlobalFunctions vk;
  PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;

  // NotFound: there is no such library. Unsupported: it is no Vulkan loader, or one of Vulkan 1.0.
  static Result<Loader> open(const char *library);
};

// Internal: the loader lacks a function that its version must have.
Result<InstanceFunctions> loadInstance(const Loader &loader, VkInstance instance);
Result<DeviceFunctions> loadDevice(const InstanceFunctions &instance, VkDevice device);

// "VK_ERROR_DEVICE_LOST (the device failed or disappeared)".
std::string resultText(VkResult result);
// "vkQueueSubmit failed: ...", with the code that fits.
Fail callFailed(const char *call, VkResult result);

} // namespace sinter::hal::vulkan
