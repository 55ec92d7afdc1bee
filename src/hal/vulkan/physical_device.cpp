// Asking a Vulkan device for its features, limits, memory and queues.
#include "hal/vulkan/physical_device.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace sinter::hal::vulkan {
namespace {

constexpr const char *kCooperativeExtension = "VK_KHR_cooperative_matrix";
constexpr const char *kBfloat16Extension = "VK_KHR_shader_bfloat16";

std::vector<std::string> extensionNames(const InstanceFunctions &vk, VkPhysicalDevice device) {
  uint32_t count = 0;
  std::vector<VkExtensionProperties> found;
  if (vk.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) == VK_SUCCESS) {
    found.resize(count);
    if (vk.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, found.data()) < 0)
      count = 0;
    found.resize(count);
  }
  std::vector<std::string> names;
  for (const auto &extension : found)
    names.emplace_back(extension.extensionName);
  return names;
}

bool contains(const std::vector<std::string> &names, const char *name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What the device is asked for beyond its plain properties.
struct Properties {
  VkPhysicalDeviceProperties2 core = {};
  VkPhysicalDeviceVulkan11Properties v11 = {};
  VkPhysicalDeviceVulkan12Properties v12 = {};
  VkPhysicalDeviceVulkan13Properties v13 = {};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nv = {};

  Properties(uint32_t apiVersion, bool hasNv) {
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    core.pNext = &v11;
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    v11.pNext = &v12;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
    nv.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV;
    void **next = &v12.pNext;
    if (apiVersion >= VK_API_VERSION_1_3) {
      *next = &v13;
      next = &v13.pNext;
    }
    if (hasNv)
      *next = &nv;
  }
  Properties(const Properties &) = delete;
  Properties &operator=(const Properties &) = delete;
};

Abilities abilitiesOf(const Features &features, const Properties &properties) {
  Abilities a;
  a.int64 = features.core.features.shaderInt64;
  a.int16 = features.core.features.shaderInt16;
  a.float64 = features.core.features.shaderFloat64;
  a.int8 = features.v12.shaderInt8;
  a.float16 = features.v12.shaderFloat16;
  a.storage16 = features.v11.storageBuffer16BitAccess;
  a.storage8 = features.v12.storageBuffer8BitAccess;
  a.scalarLayout = features.v12.scalarBlockLayout;
  a.subgroupTypes = features.v12.shaderSubgroupExtendedTypes;
  a.bufferAddress = features.v12.bufferDeviceAddress;
  a.timeline = features.v12.timelineSemaphore;
  a.memoryModel = features.v12.vulkanMemoryModel;
  a.deviceScope = features.v12.vulkanMemoryModelDeviceScope;
  a.hostQueryReset = features.v12.hostQueryReset;
  a.subgroupControl =
      features.v13.subgroupSizeControl &&
      (properties.v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  a.fullSubgroups = features.v13.computeFullSubgroups;
  a.dot = features.v13.shaderIntegerDotProduct;
  a.maintenance4 = features.v13.maintenance4;
  a.cooperative = features.cooperative.cooperativeMatrix;
  a.bfloat16 = features.bfloat16.type16;
  a.bfloat16Dot = features.bfloat16.dotProduct;
  a.bfloat16Cooperative = features.bfloat16.cooperativeMatrix;
  a.signedZeroInfNan = properties.v12.shaderSignedZeroInfNanPreserveFloat32;
  a.denormPreserve = properties.v12.shaderDenormPreserveFloat32;
  a.roundToEven = properties.v12.shaderRoundingModeRTEFloat32;
  a.even16 = a.signedZeroInfNan && properties.v12.shaderSignedZeroInfNanPreserveFloat16 &&
             a.roundToEven && properties.v12.shaderRoundingModeRTEFloat16 &&
             (!a.float64 || properties.v12.shaderRoundingModeRTEFloat64);
  if (properties.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT)
    a.subgroupOperations = properties.v11.subgroupSupportedOperations;
  return a;
}

// VkCooperativeMatrixPropertiesKHR.
struct CooperativeShape {
  VkStructureType type = static_cast<VkStructureType>(1000506001);
  void *next = nullptr;
  uint32_t m = 0, n = 0, k = 0;
  uint32_t a = 0, b = 0, c = 0, result = 0; // VkComponentTypeKHR
  VkBool32 saturating = VK_FALSE;
  uint32_t scope = 0; // VkScopeKHR
};

const char *componentName(uint32_t component) {
  constexpr const char *kNames[] = {"f16", "f32", "f64", "s8",  "s16", "s32",
                                    "s64", "u8",  "u16", "u32", "u64"};
  constexpr uint32_t kBfloat16 = 1000141000;
  if (component == kBfloat16)
    return "bf16";
  return component < std::size(kNames) ? kNames[component] : nullptr;
}

void addCooperativeShapes(PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance,
                          VkPhysicalDevice device, std::set<std::string, std::less<>> &features) {
  using GetShapes = VkResult(VKAPI_PTR *)(VkPhysicalDevice, uint32_t *, CooperativeShape *);
  constexpr uint32_t kSubgroupScope = 3;
  const auto get = reinterpret_cast<GetShapes>(
      getInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (!get || get(device, &count, nullptr) != VK_SUCCESS)
    return;
  std::vector<CooperativeShape> shapes(count);
  if (get(device, &count, shapes.data()) < 0)
    return;
  shapes.resize(count);
  for (const CooperativeShape &shape : shapes) {
    const char *a = componentName(shape.a), *b = componentName(shape.b),
               *c = componentName(shape.c), *result = componentName(shape.result);
    if (shape.scope != kSubgroupScope || shape.saturating || !a || !b || !c || !result)
      continue;
    features.insert("coop" + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" +
                    std::to_string(shape.k) + "_" + a + "_" + b + "_" + c + "_" + result);
  }
}

// Vulkan does not say whether Fma is a product and a sum; the processors behind these drivers have
// one instruction for it that rounds once. llvmpipe, for one, rounds twice.
bool fusesMultiplyAdd(VkDriverId driver) {
  constexpr VkDriverId kKnown[] = {VK_DRIVER_ID_AMD_PROPRIETARY,
                                   VK_DRIVER_ID_AMD_OPEN_SOURCE,
                                   VK_DRIVER_ID_MESA_RADV,
                                   VK_DRIVER_ID_NVIDIA_PROPRIETARY,
                                   VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS,
                                   VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
                                   static_cast<VkDriverId>(23)}; // Mesa's NVK
  return std::find(std::begin(kKnown), std::end(kKnown), driver) != std::end(kKnown);
}

TargetText targetOf(const PhysicalDevice &device, const Properties &properties) {
  const Abilities &a = device.abilities;
  const VkPhysicalDeviceLimits &limits = properties.core.properties.limits;
  TargetText target;
  target.major = VK_API_VERSION_MAJOR(device.apiVersion);
  target.minor = VK_API_VERSION_MINOR(device.apiVersion);
  target.subgroup = properties.v11.subgroupSize;
  target.threads = limits.maxComputeWorkGroupInvocations;
  target.shared = limits.maxComputeSharedMemorySize;
  const std::pair<bool, const char *> named[] = {
      {a.int8, "int8"},         {a.int16, "int16"},
      {a.float16, "float16"},   {a.float64, "float64"},
      {a.bfloat16, "bfloat16"}, {a.dot, "dot"},
      {a.even16, "even16"},     {fusesMultiplyAdd(properties.v12.driverID), "fma"}};
  for (const auto &[has, name] : named)
    if (has)
      target.features.insert(name);
  return target;
}

// A family that computes and does nothing else has no share in what is drawn.
void chooseQueue(const InstanceFunctions &vk, PhysicalDevice &device) {
  uint32_t count = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
  int best = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const VkQueueFamilyProperties &family = families[i];
    if (!(family.queueFlags & VK_QUEUE_COMPUTE_BIT) || family.queueCount == 0)
      continue;
    const int score =
        (family.timestampValidBits ? 2 : 0) + (family.queueFlags & VK_QUEUE_GRAPHICS_BIT ? 0 : 1);
    if (score <= best)
      continue;
    best = score;
    device.queueFamily = i;
    device.timestampBits = family.timestampValidBits;
  }
}

void listLacks(PhysicalDevice &device) {
  const Abilities &a = device.abilities;
  const std::pair<bool, const char *> needed[] = {
      {a.bufferAddress, "buffer device addresses"},
      {a.timeline, "timeline semaphores"},
      {a.memoryModel, "the Vulkan memory model"},
      {a.deviceScope, "device scope in the Vulkan memory model"},
      {a.int64, "64-bit integers"},
      {a.storage16, "16-bit storage"},
      {a.storage8, "8-bit storage"},
      {device.queueFamily != UINT32_MAX, "a queue that computes"}};
  for (const auto &[has, name] : needed)
    if (!has)
      device.lacks.emplace_back(name);
}

uint32_t unitsOf(const PhysicalDevice &device, const Properties &properties) {
  if (device.type == VK_PHYSICAL_DEVICE_TYPE_CPU)
    return std::max(std::thread::hardware_concurrency(), 1u);
  return std::max(properties.nv.shaderSMCount, 1u);
}

void describeLimits(PhysicalDevice &device, const Properties &properties) {
  const VkPhysicalDeviceLimits &limits = properties.core.properties.limits;
  std::copy_n(limits.maxComputeWorkGroupCount, 3, device.maxGroups.begin());
  std::copy_n(limits.maxComputeWorkGroupSize, 3, device.maxGroupSize.begin());
  device.timestampNanoseconds = static_cast<double>(limits.timestampPeriod);
  device.maxAllocationBytes = properties.v11.maxMemoryAllocationSize;
  if (properties.v13.maxBufferSize)
    device.maxAllocationBytes = std::min(device.maxAllocationBytes, properties.v13.maxBufferSize);
  device.pinSubgroup = device.abilities.subgroupControl &&
                       properties.v13.minSubgroupSize != properties.v13.maxSubgroupSize;
  device.computeUnits = unitsOf(device, properties);
}

bool hasMemoryType(const VkPhysicalDeviceMemoryProperties &memory, VkMemoryPropertyFlags flags) {
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if ((memory.memoryTypes[i].propertyFlags & flags) == flags)
      return true;
  return false;
}

} // namespace

bool PhysicalDevice::unified() const {
  return type == VK_PHYSICAL_DEVICE_TYPE_CPU || type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

bool PhysicalDevice::hasMappableMemory() const {
  return hasMemoryType(memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                   VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                   VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
}

static void chooseHeap(PhysicalDevice &device) {
  for (uint32_t i = 0; i < device.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap &heap = device.memory.memoryHeaps[i];
    if (!(heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) || heap.size <= device.memoryBytes)
      continue;
    device.memoryBytes = heap.size;
    device.memoryHeap = i;
  }
}

std::optional<uint64_t> freeBytes(const InstanceFunctions &vk, const PhysicalDevice &device) {
  if (!device.tellsBudget)
    return std::nullopt;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budgets = {};
  budgets.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  properties.pNext = &budgets;
  vk.vkGetPhysicalDeviceMemoryProperties2(device.handle, &properties);
  const uint64_t budget = budgets.heapBudget[device.memoryHeap];
  const uint64_t used = budgets.heapUsage[device.memoryHeap];
  return std::min(device.memoryBytes, budget > used ? budget - used : 0);
}

PhysicalDevice describeDevice(const InstanceFunctions &vk,
                              PFN_vkGetInstanceProcAddr getInstanceProcAddr, VkInstance instance,
                              VkPhysicalDevice handle) {
  VkPhysicalDeviceProperties plain = {};
  vk.vkGetPhysicalDeviceProperties(handle, &plain);
  PhysicalDevice device;
  device.handle = handle;
  device.type = plain.deviceType;
  device.apiVersion = plain.apiVersion;
  device.name = plain.deviceName;
  if (device.type == VK_PHYSICAL_DEVICE_TYPE_CPU)
    device.name += " (software)";
  if (device.apiVersion < VK_API_VERSION_1_2) {
    device.lacks.push_back("Vulkan 1.2 (it has " +
                           std::to_string(VK_API_VERSION_MAJOR(device.apiVersion)) + "." +
                           std::to_string(VK_API_VERSION_MINOR(device.apiVersion)) + ")");
    return device;
  }
  const auto extensions = extensionNames(vk, handle);
  Properties properties(device.apiVersion, contains(extensions, "VK_NV_shader_sm_builtins"));
  Features features(device.apiVersion, contains(extensions, kCooperativeExtension),
                    contains(extensions, kBfloat16Extension));
  vk.vkGetPhysicalDeviceProperties2(handle, &properties.core);
  vk.vkGetPhysicalDeviceFeatures2(handle, &features.core);
  vk.vkGetPhysicalDeviceMemoryProperties(handle, &device.memory);
  device.abilities = abilitiesOf(features, properties);
  device.target = targetOf(device, properties);
  if (device.abilities.cooperative)
    addCooperativeShapes(getInstanceProcAddr, instance, handle, device.target.features);
  describeLimits(device, properties);
  device.tellsBudget = contains(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  chooseHeap(device);
  chooseQueue(vk, device);
  listLacks(device);
  return device;
}

} // namespace sinter::hal::vulkan
