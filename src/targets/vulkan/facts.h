// What the Vulkan target knows of a device, from its target string.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::targets::vulkan {

/// "vulkan:1.3+subgroup32+float16+int16+int8+threads1024+shared32768", as the driver's devices have
/// it. What the string leaves out is as small as every device has it, but for the subgroup.
struct VulkanFacts {
  int major = 1, minor = 2;
  int64_t subgroup = 32;                       // invocations, a power of two
  int64_t threads = 128;                       // of a workgroup at most
  int64_t sharedBytes = 16384;                 // of a workgroup at most
  std::set<std::string, std::less<>> features; // int8, int16, float16 and those without a use here

  bool has(std::string_view feature) const { return features.contains(feature); }
  /// Of the table of matrix instructions (sched/simt/matrix_instructions.h), which work from
  /// Vulkan 1.3 on, in subgroups of 32.
  std::vector<std::string_view> matrixInstructions() const;
  std::string name() const;
};

/// `rest` follows "vulkan:". InvalidArgument: not of that form, or a number out of range.
Result<VulkanFacts> parseFacts(std::string_view rest);

} // namespace sinter::targets::vulkan
