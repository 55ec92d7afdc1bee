// The device that runs models: named, or the best there is and why it is that one.
#pragma once

#include "hal/hal.h"

#include <optional>
#include <string>

namespace sinter::host {

// A device as users name it: "auto", or a driver, with or without a number ("cuda", "vulkan:1").
struct DeviceName {
  std::string driver; // "auto" too
  uint32_t index = 0;
};
// Nothing where `text` is no such name.
std::optional<DeviceName> parseDeviceName(std::string_view text);
// Without numbers: "auto", "cpu", ...
std::vector<std::string> deviceNames();

struct DeviceChoice {
  std::unique_ptr<hal::Device> device;
  std::string why; // one line; empty where the device was named
};

// Without a name the first hardware GPU, else the CPU, and why where that is no CPU. `auto` chooses
// likewise and always has a reason. A device of software is opened by name only. `threads` are a
// CPU's; 0: all that this process may use.
// NotFound, in one sentence: the driver or the device is not there; nothing takes its place.
Result<DeviceChoice> openDevice(const std::optional<DeviceName> &name, uint32_t threads);

// All drivers of models: cpu, cuda, vulkan.
Result<void> addDrivers(hal::DriverRegistry &registry);

// Whether a driver's device runs on the CPU in a GPU's place.
bool isSoftware(const hal::DeviceInfo &info);

} // namespace sinter::host
