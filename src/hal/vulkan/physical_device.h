// What a Vulkan device offers, as far as the driver and the modules that it loads care.
#pragma once

#include "hal/vulkan/loader.h"
#include "hal/vulkan/target_text.h"

#include <array>
#include <vector>

namespace sinter::hal::vulkan {

// Structs of extensions that are younger than the oldest headers we build with; the layouts are the
// registry's.
struct CooperativeMatrixFeatures {
  VkStructureType type = static_cast<VkStructureType>(1000506000);
  void *next = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE;
  VkBool32 robustBufferAccess = VK_FALSE;
};
struct Bfloat16Features {
  VkStructureType type = static_cast<VkStructureType>(1000141000);
  void *next = nullptr;
  VkBool32 type16 = VK_FALSE;
  VkBool32 dotProduct = VK_FALSE;
  VkBool32 cooperativeMatrix = VK_FALSE;
};

// The features that are asked of a device and then enabled, linked into one chain.
struct Features {
  Features(uint32_t apiVersion, bool hasCooperativeMatrix, bool hasBfloat16);
  Features(const Features &) = delete;
  Features &operator=(const Features &) = delete;

  VkPhysicalDeviceFeatures2 core = {};
  VkPhysicalDeviceVulkan11Features v11 = {};
  VkPhysicalDeviceVulkan12Features v12 = {};
  VkPhysicalDeviceVulkan13Features v13 = {};
  CooperativeMatrixFeatures cooperative;
  Bfloat16Features bfloat16;
};

// What of the features is used. The rest stays off: some of it makes every access slower.
struct Abilities {
  bool int64 = false, int16 = false, int8 = false, float16 = false, float64 = false;
  bool storage16 = false, storage8 = false, scalarLayout = false, subgroupTypes = false;
  bool bufferAddress = false, timeline = false, memoryModel = false, deviceScope = false;
  bool hostQueryReset = false;
  bool subgroupControl = false, fullSubgroups = false, dot = false, maintenance4 = false;
  bool cooperative = false, bfloat16 = false, bfloat16Dot = false, bfloat16Cooperative = false;
  bool signedZeroInfNan = false, denormPreserve = false, roundToEven = false; // of float32
  bool even16 = false;                                                        // see target_text.h
  VkSubgroupFeatureFlags subgroupOperations = 0;
};

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name; // "llvmpipe (LLVM 15.0.6, 256 bits) (software)" where no hardware runs
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t apiVersion = 0;
  Abilities abilities;
  TargetText target;
  bool pinSubgroup = false;                  // the device varies the subgroup unless told
  std::array<uint32_t, 3> maxGroups = {};    // workgroups of one dispatch
  std::array<uint32_t, 3> maxGroupSize = {}; // invocations of one workgroup
  uint64_t maxAllocationBytes = 0;           // of one allocation
  uint64_t memoryBytes = 0;                  // of the largest heap of its own,
  uint32_t memoryHeap = 0;                   // which is this one
  bool tellsBudget = false;                  // what of it other programs leave
  VkPhysicalDeviceMemoryProperties memory = {};
  uint32_t computeUnits = 1;
  uint32_t queueFamily = UINT32_MAX;
  uint32_t timestampBits = 0; // 0: the queue has no clock
  double timestampNanoseconds = 1;
  std::vector<std::string> lacks; // what the driver needs and does not find

  // Device and host share one memory.
  bool unified() const;
  // A type of device memory that the host sees, without flushes.
  bool hasMappableMemory() const;
};

PhysicalDevice describeDevice(const InstanceFunctions &vk,
                              PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance,
                              VkPhysicalDevice handle);

// Of memoryBytes, what no program holds now; nothing where the device does not tell.
std::optional<uint64_t> freeBytes(const InstanceFunctions &vk, const PhysicalDevice &device);

// Turns on in `features` what `abilities` names.
void enableFeatures(const Abilities &abilities, Features &features);

// The extensions that go with them.
std::vector<const char *> extensionsOf(const Abilities &abilities);

// Unsupported: the device lacks the SPIR-V capability, which is named.
Result<void> checkCapability(const PhysicalDevice &device, uint32_t capability);

} // namespace sinter::hal::vulkan
