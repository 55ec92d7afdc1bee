// Devices and their drivers.
#include "cli/doctor/checks.h"

#include "base/number_text.h"
#include "host/device_choice.h"

#include <filesystem>
#include <unistd.h>

namespace sinter::cli {
namespace {

std::string describe(const hal::DeviceInfo &info) {
  return "'" + info.name + "', " + std::to_string(info.computeUnits) + " units, " +
         bytesText(static_cast<double>(info.memoryBytes));
}

std::string describe(const std::vector<hal::DeviceInfo> &devices) {
  std::string text = describe(devices.front());
  if (devices.size() > 1)
    text += " and " + std::to_string(devices.size() - 1) + " more (`sinter devices`)";
  return text;
}

Result<std::vector<hal::DeviceInfo>> devicesOf(const hal::DriverRegistry &registry,
                                               std::string_view driver) {
  SINTER_ASSIGN(hal::Driver * found, registry.find(driver));
  auto devices = found->devices();
  if (devices && devices->empty())
    return fail(Code::NotFound, "the driver finds no device");
  return devices;
}

bool exists(const std::string &path) {
  return access(path.c_str(), F_OK) == 0;
}

// A GPU's node that this user may not open, if there is one: its driver then shows no device.
std::string closedNode(const std::string &root) {
  std::error_code failed;
  std::filesystem::directory_iterator at(root + "/dev/dri", failed);
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
    if (at->path().filename().string().starts_with("renderD") &&
        access(at->path().c_str(), R_OK | W_OK) != 0)
      return at->path().string();
  return "";
}

} // namespace

Finding checkProcessor(const hal::DriverRegistry &registry) {
  const auto devices = devicesOf(registry, "cpu");
  if (!devices)
    return {"processor", Health::Problem, devices.error().toString(),
            "Sinter runs on x86-64 with AVX2 and on 64-bit ARM, on Linux"};
  return {"processor", Health::Ok, describe(*devices), ""};
}

Finding checkCuda(const hal::DriverRegistry &registry, const std::string &root) {
  const auto devices = devicesOf(registry, "cuda");
  if (devices)
    return {"cuda", Health::Ok, describe(*devices), ""};
  if (!exists(root + "/dev/nvidiactl") && !exists(root + "/dev/dxg"))
    return {"cuda", Health::Ok, "the system shows no NVIDIA GPU", ""};
  return {"cuda", Health::Warning, devices.error().toString(),
          "install the NVIDIA driver's library libcuda.so.1, of the kernel driver's version "
          "(Debian: libcuda1; in a container: run it with --gpus all)"};
}

Finding checkVulkan(const hal::DriverRegistry &registry, const std::string &root) {
  const auto devices = devicesOf(registry, "vulkan");
  if (devices && !host::isSoftware(devices->front()))
    return {"vulkan", Health::Ok, describe(*devices), ""};
  const std::string found =
      devices ? "only a software device: " + describe(*devices) : devices.error().toString();
  if (!exists(root + "/dev/dri"))
    return {"vulkan", Health::Ok, devices ? found : "the system shows no GPU: " + found, ""};
  if (const std::string node = closedNode(root); !node.empty())
    return {"vulkan", Health::Warning, found + "; this user may not open '" + node + "'",
            "add the user to the group that owns it, mostly render"};
  return {"vulkan", Health::Warning, found,
          "install the GPU's Vulkan driver (Debian, for AMD and Intel: mesa-vulkan-drivers)"};
}

} // namespace sinter::cli
