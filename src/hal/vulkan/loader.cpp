// Opening of the loader, its function tables, and its results in words.
#include "hal/vulkan/loader.h"

#include <dlfcn.h>

namespace sinter::hal::vulkan {
namespace {

struct ResultName {
  VkResult result;
  const char *name;
  const char *words;
  Code code;
};

constexpr ResultName kResults[] = {
    {VK_NOT_READY, "VK_NOT_READY", "it has not ended yet", Code::Internal},
    {VK_TIMEOUT, "VK_TIMEOUT", "it took longer than allowed", Code::Timeout},
    {VK_INCOMPLETE, "VK_INCOMPLETE", "there is more than was asked for", Code::Internal},
    {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", "the host has no memory left",
     Code::Exhausted},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY",
     "the device has no memory left", Code::Exhausted},
    {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", "the driver could not start",
     Code::Internal},
    {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", "the device failed or disappeared",
     Code::DeviceLost},
    {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED",
     "the memory could not be shown to the host", Code::Exhausted},
    {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", "a layer is not installed",
     Code::NotFound},
    {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", "an extension is missing",
     Code::Unsupported},
    {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", "a feature is missing",
     Code::Unsupported},
    {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER",
     "no installed driver fits the loader", Code::NotFound},
    {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", "there are too many objects",
     Code::Exhausted},
    {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL", "a pool is fragmented", Code::Exhausted},
    {VK_ERROR_FRAGMENTATION, "VK_ERROR_FRAGMENTATION", "memory is fragmented", Code::Exhausted},
    {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV", "the driver refused the shader",
     Code::Corrupt},
    {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", "the driver gave no reason", Code::Internal},
};

const ResultName *findResult(VkResult result) {
  for (const ResultName &known : kResults)
    if (known.result == result)
      return &known;
  return nullptr;
}

Fail missingFunction(const char *name) {
  return fail(Code::Internal, std::string("the Vulkan loader has no function ") + name);
}

} // namespace

std::string resultText(VkResult result) {
  const ResultName *known = findResult(result);
  return known ? std::string(known->name) + " (" + known->words + ")"
               : "VkResult " + std::to_string(static_cast<int>(result));
}

Fail callFailed(const char *call, VkResult result) {
  const ResultName *known = findResult(result);
  return fail(known ? known->code : Code::Internal,
              std::string(call) + " failed: " + resultText(result));
}

Result<Loader> Loader::open(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char *why = dlerror();
    return fail(Code::NotFound, std::string("no Vulkan loader: ") + (why ? why : library));
  }
  Loader loader;
  loader.getInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(handle, "vkGetInstanceProcAddr"));
  if (!loader.getInstanceProcAddr)
    return fail(Code::Unsupported, std::string("library '") + library +
                                       "' has no vkGetInstanceProcAddr, expected a Vulkan loader");
#define SINTER_VK_LOAD(name)                                                                       \
  loader.vk.name = reinterpret_cast<PFN_##name>(loader.getInstanceProcAddr(nullptr, #name));       \
  if (!loader.vk.name)                                                                             \
    return fail(Code::Unsupported, std::string("the Vulkan loader has no function ") + #name +     \
                                       ", expected one of Vulkan 1.1 or later");
  SINTER_VK_GLOBAL_FUNCTIONS(SINTER_VK_LOAD)
#undef SINTER_VK_LOAD
  return loader;
}

Result<InstanceFunctions> loadInstance(const Loader &loader, VkInstance instance) {
  InstanceFunctions vk;
#define SINTER_VK_LOAD(name)                                                                       \
  vk.name = reinterpret_cast<PFN_##name>(loader.getInstanceProcAddr(instance, #name));             \
  if (!vk.name)                                                                                    \
    return missingFunction(#name);
  SINTER_VK_INSTANCE_FUNCTIONS(SINTER_VK_LOAD)
#undef SINTER_VK_LOAD
  return vk;
}

Result<DeviceFunctions> loadDevice(const InstanceFunctions &instance, VkDevice device) {
  DeviceFunctions vk;
#define SINTER_VK_LOAD(name)                                                                       \
  vk.name = reinterpret_cast<PFN_##name>(instance.vkGetDeviceProcAddr(device, #name));             \
  if (!vk.name)                                                                                    \
    return missingFunction(#name);
  SINTER_VK_DEVICE_FUNCTIONS(SINTER_VK_LOAD)
#undef SINTER_VK_LOAD
  return vk;
}

} // namespace sinter::hal::vulkan
