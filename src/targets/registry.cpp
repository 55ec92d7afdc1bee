// One line for each vendor: the prefix of its target strings, how one is found, what there is.
#include "tile/mlir_pch.h"

#include "targets/amd/amd_target.h"
#include "targets/cpu/cpu_target.h"
#include "targets/metal/metal_target.h"
#include "targets/nvidia/nvidia_target.h"
#include "targets/registry.h"
#include "targets/vulkan/vulkan_target.h"

namespace sinter::targets {

namespace {
struct Vendor {
  const char *prefix; // with the colon
  Result<std::unique_ptr<Target>> (*find)(std::string_view rest);
  std::string (*names)();
};
} // namespace

static constexpr Vendor kVendors[] = {
    {"cpu:", cpu::findCpuTarget, cpu::cpuTargetNames},
    {"cuda:", nvidia::findNvidiaTarget, nvidia::nvidiaTargetNames},
    {"amd:", amd::findAmdTarget, amd::amdTargetNames},
    {"metal:", metal::findMetalTarget, metal::metalTargetNames},
    {"vulkan:", vulkan::findVulkanTarget, vulkan::vulkanTargetNames},
};

Result<std::unique_ptr<Target>> findTarget(std::string_view name) {
  std::string names;
  for (const Vendor &vendor : kVendors) {
    if (name.starts_with(vendor.prefix))
      return vendor.find(name.substr(std::string_view(vendor.prefix).size()));
    names += (names.empty() ? "" : ", ") + vendor.names();
  }
  if (name == "cpu" || name == "host" || cpu::isCpuLevel(name))
    return cpu::findCpuTarget(name == "cpu" ? "host" : name);
  return fail(Code::InvalidArgument,
              "found target '" + std::string(name) + "', expected host, " + names);
}

} // namespace sinter::targets
