// The vulkan driver as tests run it: with buffers that the host sees and without, and under the
// validation layer, whose every message is a failure.
#pragma once

#include "hal/vulkan/vulkan_driver.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

namespace sinter::hal {

inline constexpr const char *kVulkanTestTarget = "vulkan:1.2";
inline constexpr uint32_t kVulkanTestThreads = 16;

// The bytes of tests/hal/vulkan_kernels.spvasm, found from the test program's own place.
inline std::vector<uint8_t> vulkanKernels() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::ifstream in(program.parent_path().parent_path() / "lib" / "vulkan_kernels.spv",
                   std::ios::binary);
  EXPECT_TRUE(in.good()) << "no ../lib/vulkan_kernels.spv beside the test program's folder: the "
                            "build found no spirv-as (package spirv-tools)";
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void failOnValidation(const char *message) {
  ADD_FAILURE() << "the validation layer says: " << message;
}

inline Result<void> addMappedVulkan(DriverRegistry &registry) {
  return addVulkanDriver(registry, {.mapping = VulkanOptions::Mapping::Always});
}
inline Result<void> addStagedVulkan(DriverRegistry &registry) {
  return addVulkanDriver(registry, {.mapping = VulkanOptions::Mapping::Never});
}
inline Result<void> addValidatedMappedVulkan(DriverRegistry &registry) {
  return addVulkanDriver(
      registry, {.mapping = VulkanOptions::Mapping::Always, .onValidation = failOnValidation});
}
inline Result<void> addValidatedStagedVulkan(DriverRegistry &registry) {
  return addVulkanDriver(
      registry, {.mapping = VulkanOptions::Mapping::Never, .onValidation = failOnValidation});
}

} // namespace sinter::hal
