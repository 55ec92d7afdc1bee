// The table of families, and the question to their drivers.
#include "hal/target_choice.h"

#include <algorithm>

namespace sinter::hal {
namespace {

// Of each family the target that most devices run; of AMD's, whose code runs on one kind of
// processor alone, the one of its current accelerators.
constexpr TargetFamily kFamilies[] = {
    {"cuda", "cuda:sm_80", "NVIDIA GPUs since Ampere (2020)"},
    {"vulkan", "vulkan:1.3+subgroup32+float16+int16+int8+threads1024+shared32768",
     "GPUs of personal computers with Vulkan 1.3"},
    {"amd", "amd:gfx942", "AMD Instinct MI300"},
    {"metal", "metal:apple7", "Apple's GPUs since the M1"},
};

std::optional<DeviceInfo> firstDevice(const DriverRegistry &registry, std::string_view family) {
  const auto driver = registry.find(family);
  if (!driver)
    return std::nullopt;
  const auto devices = (*driver)->devices();
  return devices && !devices->empty() ? std::optional(devices->front()) : std::nullopt;
}

} // namespace

std::span<const TargetFamily> targetFamilies() {
  return kFamilies;
}

TargetChoice chooseTarget(const std::string &name, const DriverRegistry &registry) {
  const auto family = std::ranges::find(kFamilies, name, &TargetFamily::name);
  if (family == std::end(kFamilies))
    return {name};
  if (const auto device = firstDevice(registry, family->name))
    return {device->target,
            "target " + name + ": " + device->target + ", this machine's '" + device->name + "'"};
  return {std::string(family->target), "target " + name + ": " + std::string(family->target) +
                                           ", for " + std::string(family->reach) +
                                           ", since this machine has no such device"};
}

} // namespace sinter::hal
