// Vulkan target texts, and what the driver makes of devices that lack something.
#include "hal/vulkan/physical_device.h"

#include <algorithm>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::hal::vulkan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char *kDevice =
    "vulkan:1.3+subgroup8+dot+float16+int16+int8+threads1024+shared32768";

std::string refusal(const char *needed) {
  auto target = parseTarget(needed);
  EXPECT_TRUE(target.has_value()) << needed;
  auto checked = checkTarget(*target, *parseTarget(kDevice));
  EXPECT_FALSE(checked.has_value()) << needed;
  EXPECT_TRUE(checked || checked.error().code == Code::Unsupported);
  return checked ? "" : checked.error().message;
}

TEST(VulkanTarget, ATextReadAndWrittenIsItself) {
  EXPECT_EQ(parseTarget(kDevice)->text(), kDevice);
}

TEST(VulkanTarget, ADeviceRunsWhatIsMadeForItAndForLess) {
  for (const char *needed : {kDevice, "vulkan:1.2", "vulkan:1.3+int8", "vulkan:1.3+subgroup8",
                             "vulkan:1.3+shared32768", "vulkan:1.2+threads64+shared1"})
    EXPECT_TRUE(checkTarget(*parseTarget(needed), *parseTarget(kDevice)).has_value()) << needed;
}

TEST(VulkanTarget, WhatIsMissingIsNamed) {
  EXPECT_THAT(refusal("vulkan:1.4"), HasSubstr("needs Vulkan 1.4"));
  EXPECT_THAT(refusal("vulkan:2.0"), HasSubstr("needs Vulkan 2.0"));
  EXPECT_THAT(refusal("vulkan:1.2+subgroup32"), HasSubstr("needs subgroups of 32"));
  EXPECT_THAT(refusal("vulkan:1.2+threads2048"), HasSubstr("workgroups of 2048 invocations"));
  EXPECT_THAT(refusal("vulkan:1.2+shared32769"), HasSubstr("32769 bytes of workgroup memory"));
  EXPECT_THAT(refusal("vulkan:1.2+float64"), HasSubstr("needs 'float64'"));
  EXPECT_THAT(refusal("vulkan:1.2+shared99999999999"), HasSubstr("needs 'shared99999999999'"));
}

TEST(VulkanTarget, OtherTextsAreRefused) {
  for (const char *text : {"", "vulkan", "vulkan:", "cpu:x86_64", "vulkan:1", "vulkan:1.",
                           "vulkan:.3", "vulkan:x.3", "vulkan:1.3+", "vulkan:1.3++int8",
                           "vulkan:1.3 +int8", "vulkan:-1.3", "vulkan:1.99999999999"})
    EXPECT_FALSE(parseTarget(text).has_value()) << text;
}

// A device that has all that the driver needs, but what a test takes away.
struct FakeDevice {
  uint32_t apiVersion = VK_API_VERSION_1_2;
  bool computes = true;
  VkPhysicalDeviceFeatures core = {.shaderInt64 = VK_TRUE};
  VkPhysicalDeviceVulkan11Features v11 = {.storageBuffer16BitAccess = VK_TRUE};
  VkPhysicalDeviceVulkan12Features v12 = {.storageBuffer8BitAccess = VK_TRUE,
                                          .timelineSemaphore = VK_TRUE,
                                          .bufferDeviceAddress = VK_TRUE,
                                          .vulkanMemoryModel = VK_TRUE,
                                          .vulkanMemoryModelDeviceScope = VK_TRUE};
  VkPhysicalDeviceVulkan11Properties v11Properties = {};
  VkPhysicalDeviceVulkan12Properties v12Properties = {};
  VkPhysicalDeviceLimits limits = {};
};

FakeDevice &fakeOf(VkPhysicalDevice device) {
  return *reinterpret_cast<FakeDevice *>(device);
}

// Copies a feature struct but for its head, which links the chain.
template <typename T> void copyBody(void *to, const T &from) {
  constexpr std::size_t kHead = sizeof(VkBaseOutStructure);
  std::memcpy(static_cast<char *>(to) + kHead, reinterpret_cast<const char *>(&from) + kHead,
              sizeof from - kHead);
}

void VKAPI_PTR fakeFeatures(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features) {
  features->features = fakeOf(device).core;
  for (auto *next = static_cast<VkBaseOutStructure *>(features->pNext); next; next = next->pNext) {
    if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES)
      copyBody(next, fakeOf(device).v11);
    if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
      copyBody(next, fakeOf(device).v12);
  }
}

void VKAPI_PTR fakeProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
  properties->properties.limits = fakeOf(device).limits;
  for (auto *next = static_cast<VkBaseOutStructure *>(properties->pNext); next;
       next = next->pNext) {
    if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES)
      copyBody(next, fakeOf(device).v11Properties);
    if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES)
      copyBody(next, fakeOf(device).v12Properties);
  }
}

void VKAPI_PTR fakePlainProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *out) {
  *out = {};
  out->apiVersion = fakeOf(device).apiVersion;
  std::strncpy(out->deviceName, "old card", sizeof out->deviceName);
}

void VKAPI_PTR fakeQueues(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *out) {
  *count = 1;
  if (out)
    out[0] = {VkQueueFlags(fakeOf(device).computes ? VK_QUEUE_COMPUTE_BIT : VK_QUEUE_TRANSFER_BIT),
              1,
              64,
              {}};
}

PhysicalDevice described(FakeDevice fake) {
  InstanceFunctions vk;
  vk.vkGetPhysicalDeviceFeatures2 = fakeFeatures;
  vk.vkGetPhysicalDeviceProperties = fakePlainProperties;
  vk.vkGetPhysicalDeviceProperties2 = fakeProperties;
  vk.vkGetPhysicalDeviceMemoryProperties = [](VkPhysicalDevice,
                                              VkPhysicalDeviceMemoryProperties *) {};
  vk.vkGetPhysicalDeviceQueueFamilyProperties = fakeQueues;
  vk.vkEnumerateDeviceExtensionProperties = [](VkPhysicalDevice, const char *, uint32_t *count,
                                               VkExtensionProperties *) {
    *count = 0;
    return VK_SUCCESS;
  };
  return describeDevice(vk, nullptr, VK_NULL_HANDLE, reinterpret_cast<VkPhysicalDevice>(&fake));
}

std::vector<std::string> lacksOf(const FakeDevice &fake) {
  return described(fake).lacks;
}

TEST(VulkanPhysicalDevice, WithAllThatIsNeededItLacksNothing) {
  EXPECT_THAT(lacksOf({}), IsEmpty());
}

// The text that plans for the least device are built for (tests/engine).
TEST(VulkanPhysicalDevice, WithTheLeastLimitsItsTextSaysThem) {
  FakeDevice device;
  device.v11Properties.subgroupSize = 32;
  device.limits.maxComputeWorkGroupInvocations = 128;
  device.limits.maxComputeSharedMemorySize = 16384;
  EXPECT_EQ(described(device).target.text(), "vulkan:1.2+subgroup32+threads128+shared16384");
}

TEST(VulkanPhysicalDevice, BeforeVulkan12ItLacksThat) {
  EXPECT_THAT(lacksOf({.apiVersion = VK_API_VERSION_1_1}), ElementsAre("Vulkan 1.2 (it has 1.1)"));
}

TEST(VulkanPhysicalDevice, EachMissingFeatureIsNamed) {
  using Change = void (*)(FakeDevice &);
  const std::pair<Change, const char *> kCases[] = {
      {[](FakeDevice &d) { d.core.shaderInt64 = VK_FALSE; }, "64-bit integers"},
      {[](FakeDevice &d) { d.v11.storageBuffer16BitAccess = VK_FALSE; }, "16-bit storage"},
      {[](FakeDevice &d) { d.v12.storageBuffer8BitAccess = VK_FALSE; }, "8-bit storage"},
      {[](FakeDevice &d) { d.v12.timelineSemaphore = VK_FALSE; }, "timeline semaphores"},
      {[](FakeDevice &d) { d.v12.bufferDeviceAddress = VK_FALSE; }, "buffer device addresses"},
      {[](FakeDevice &d) { d.v12.vulkanMemoryModel = VK_FALSE; }, "the Vulkan memory model"},
      {[](FakeDevice &d) { d.v12.vulkanMemoryModelDeviceScope = VK_FALSE; },
       "device scope in the Vulkan memory model"},
      {[](FakeDevice &d) { d.computes = false; }, "a queue that computes"}};
  for (const auto &[change, name] : kCases) {
    FakeDevice device;
    change(device);
    EXPECT_THAT(lacksOf(device), ElementsAre(name));
  }
}

TEST(VulkanPhysicalDevice, RoundsBits16ToEvenWhereAllWidthsDo) {
  FakeDevice device;
  device.v12Properties.shaderRoundingModeRTEFloat16 = VK_TRUE;
  device.v12Properties.shaderRoundingModeRTEFloat32 = VK_TRUE;
  device.v12Properties.shaderSignedZeroInfNanPreserveFloat16 = VK_TRUE;
  device.v12Properties.shaderSignedZeroInfNanPreserveFloat32 = VK_TRUE;
  auto rounds = [](const FakeDevice &d) { return described(d).target.features.contains("even16"); };
  EXPECT_TRUE(rounds(device));
  device.core.shaderFloat64 = VK_TRUE;
  EXPECT_FALSE(rounds(device));
  device.v12Properties.shaderRoundingModeRTEFloat64 = VK_TRUE;
  EXPECT_TRUE(rounds(device));
  device.v12Properties.shaderRoundingModeRTEFloat16 = VK_FALSE;
  EXPECT_FALSE(rounds(device));
}

} // namespace
} // namespace sinter::hal::vulkan
