// The Vulkan target: tile kernels in, SPIR-V out.
#pragma once

#include "targets/target.h"

#include <memory>

namespace sinter::targets::vulkan {

/// `rest` follows "vulkan:" in a target string (facts.h).
Result<std::unique_ptr<Target>> findVulkanTarget(std::string_view rest);
std::string vulkanTargetNames();

} // namespace sinter::targets::vulkan
