// The software Vulkan device as tests open it, with subgroups of a chosen size.
#pragma once

#include "hal/vulkan/vulkan_driver.h"

#include <cstdlib>
#include <memory>
#include <string>

namespace sinter::targets::vulkan {

// A process has the subgroups that it began with: NotFound where those are others.
inline Result<std::unique_ptr<hal::Device>> softwareDevice(int64_t subgroup) {
  setenv("LP_NATIVE_VECTOR_WIDTH", std::to_string(subgroup * 32).c_str(), 1);
  hal::DriverRegistry registry;
  SINTER_TRY(hal::addVulkanDriver(registry));
  SINTER_ASSIGN(hal::Driver * driver, registry.find("vulkan"));
  SINTER_ASSIGN(auto devices, driver->devices());
  for (uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].name.find("llvmpipe") == std::string::npos)
      continue;
    if (devices[i].target.find("+subgroup" + std::to_string(subgroup) + "+") == std::string::npos)
      return fail(Code::NotFound,
                  "this process's llvmpipe has other subgroups: '" + devices[i].target + "'");
    return driver->open(i, {});
  }
  return fail(Code::NotFound, "there is no llvmpipe");
}

// A target text that names these features of the device and no others.
inline std::string plainTarget(int64_t subgroup, const std::string &features) {
  return "vulkan:1.3+subgroup" + std::to_string(subgroup) + features + "+threads1024+shared32768";
}

} // namespace sinter::targets::vulkan
