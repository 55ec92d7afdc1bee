// Creation of the instance, its validation messages, and its list of devices.
#include "hal/vulkan/instance.h"

#include "hal/vulkan/driver_libraries.h"

#include <algorithm>
#include <cstring>

namespace sinter::hal::vulkan {
namespace {

constexpr const char *kValidationLayer = "VK_LAYER_KHRONOS_validation";

VkBool32 VKAPI_PTR passMessage(VkDebugUtilsMessageSeverityFlagBitsEXT,
                               VkDebugUtilsMessageTypeFlagsEXT,
                               const VkDebugUtilsMessengerCallbackDataEXT *data, void *listener) {
  reinterpret_cast<void (*)(const char *)>(listener)(data->pMessage);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messengerInfo(const VulkanOptions &options) {
  VkDebugUtilsMessengerCreateInfoEXT info = {};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = passMessage;
  info.pUserData = reinterpret_cast<void *>(options.onValidation);
  return info;
}

bool hasLayer(const Loader &loader, const char *name) {
  uint32_t count = 0;
  if (loader.vk.vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS)
    return false;
  std::vector<VkLayerProperties> layers(count);
  if (loader.vk.vkEnumerateInstanceLayerProperties(&count, layers.data()) < 0)
    return false;
  layers.resize(count);
  return std::any_of(layers.begin(), layers.end(), [&](const VkLayerProperties &layer) {
    return std::strcmp(layer.layerName, name) == 0;
  });
}

int rank(VkPhysicalDeviceType type) {
  switch (type) {
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    return 0;
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    return 1;
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
    return 2;
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    return 4;
  default:
    return 3;
  }
}

} // namespace

Result<std::shared_ptr<Instance>> Instance::create(const VulkanOptions &options) {
  std::shared_ptr<Instance> instance(new Instance());
  SINTER_ASSIGN(instance->loader_, Loader::open(options.loader));
  SINTER_TRY(instance->createHandle(options));
  SINTER_ASSIGN(instance->vk_, loadInstance(instance->loader_, instance->handle_));
  SINTER_TRY(instance->listenTo(options));
  SINTER_TRY(instance->findDevices(options));
  return instance;
}

Result<void> Instance::createHandle(const VulkanOptions &options) {
  uint32_t version = VK_API_VERSION_1_0;
  const VkResult asked = loader_.vk.vkEnumerateInstanceVersion(&version);
  if (asked != VK_SUCCESS)
    return callFailed("vkEnumerateInstanceVersion", asked);
  if (options.onValidation && !hasLayer(loader_, kValidationLayer))
    return fail(Code::NotFound,
                std::string("the Vulkan layer ") + kValidationLayer + " is not installed");
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pEngineName = "sinter";
  application.apiVersion = std::min<uint32_t>(version, VK_API_VERSION_1_3);
  const auto messenger = messengerInfo(options);
  const char *extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (options.onValidation) {
    info.pNext = &messenger; // what is said while the instance is made and unmade
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
  }
  const std::set<std::string> before = openLibraries();
  const VkResult made = loader_.vk.vkCreateInstance(&info, nullptr, &handle_);
  keepLibrariesSince(before);
  if (made != VK_SUCCESS)
    return callFailed("vkCreateInstance", made);
  return {};
}

Result<void> Instance::listenTo(const VulkanOptions &options) {
  if (!options.onValidation)
    return {};
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      loader_.getInstanceProcAddr(handle_, "vkCreateDebugUtilsMessengerEXT"));
  if (!create)
    return fail(Code::NotFound, "the Vulkan loader has no VK_EXT_debug_utils");
  const auto info = messengerInfo(options);
  const VkResult made = create(handle_, &info, nullptr, &messenger_);
  return made == VK_SUCCESS ? Result<void>() : callFailed("vkCreateDebugUtilsMessengerEXT", made);
}

Result<void> Instance::findDevices(const VulkanOptions &options) {
  uint32_t count = 0;
  VkResult listed = vk_.vkEnumeratePhysicalDevices(handle_, &count, nullptr);
  std::vector<VkPhysicalDevice> handles(count);
  if (listed == VK_SUCCESS)
    listed = vk_.vkEnumeratePhysicalDevices(handle_, &count, handles.data());
  if (listed < 0)
    return callFailed("vkEnumeratePhysicalDevices", listed);
  handles.resize(count);
  for (VkPhysicalDevice handle : handles) {
    PhysicalDevice device = describeDevice(vk_, loader_.getInstanceProcAddr, handle_, handle);
    if (options.mapping == VulkanOptions::Mapping::Always &&
        (!device.unified() || !device.hasMappableMemory()))
      device.lacks.emplace_back("device memory that the host sees");
    auto &devices = device.lacks.empty() ? usable_ : unusable_;
    const auto place = std::upper_bound(devices.begin(), devices.end(), device,
                                        [](const PhysicalDevice &a, const PhysicalDevice &b) {
                                          return rank(a.type) < rank(b.type);
                                        });
    devices.insert(place, std::move(device));
  }
  return {};
}

std::string Instance::unusableText() const {
  std::string text;
  for (const PhysicalDevice &device : unusable_) {
    text += (text.empty() ? "'" : "; '") + device.name + "' lacks ";
    for (std::size_t i = 0; i < device.lacks.size(); ++i)
      text += (i ? ", " : "") + device.lacks[i];
  }
  return text;
}

Instance::~Instance() {
  if (abandoned_)
    return;
  if (messenger_) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        loader_.getInstanceProcAddr(handle_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(handle_, messenger_, nullptr);
  }
  if (handle_) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyInstance>(
        loader_.getInstanceProcAddr(handle_, "vkDestroyInstance"));
    destroy(handle_, nullptr);
  }
}

} // namespace sinter::hal::vulkan
