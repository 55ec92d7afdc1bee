// Drivers are asked in the order of preference; what a machine without GPUs need not load stays
// unloaded.
#include "host/device_choice.h"

#include "base/number_text.h"
#include "hal/cpu/cpu_driver.h"
#include "hal/cuda/cuda_driver.h"
#include "hal/vulkan/vulkan_driver.h"

#include <charconv>
#include <unistd.h>

namespace sinter::host {
namespace {

constexpr std::string_view kDrivers[] = {"cpu", "cuda", "vulkan"};
// A wait that takes longer loses the device: no step of a model that runs well takes a tenth.
constexpr double kWatchdogSeconds = 600;

// Files that the system makes where a GPU has a kernel driver.
bool systemHasGpu() {
  return access("/dev/dri", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0 ||
         access("/dev/dxg", F_OK) == 0;
}

std::string describe(const hal::DeviceInfo &info) {
  return "'" + info.name + "' (" + bytesText(static_cast<double>(info.memoryBytes)) + ")";
}

// What one driver offers for an automatic choice.
struct Offer {
  std::optional<uint32_t> index; // of the first hardware device
  std::string found;             // in words
};

Offer offerOf(hal::Driver &driver) {
  const std::string name(driver.name());
  const auto devices = driver.devices();
  if (!devices)
    return {std::nullopt, name + ": " + devices.error().message};
  for (uint32_t i = 0; i < devices->size(); ++i)
    if (!isSoftware((*devices)[i]))
      return {i, name + " device " + describe((*devices)[i])};
  return {std::nullopt, name + ": " + (devices->empty() ? "no device" : "only software devices")};
}

Result<DeviceChoice> chooseDevice(const hal::DriverRegistry &registry, uint32_t threads,
                                  bool always) {
  std::string found;
  if (!systemHasGpu())
    found = "the system shows no GPU";
  else
    for (const std::string_view name : {"cuda", "vulkan"}) {
      SINTER_ASSIGN(hal::Driver * driver, registry.find(name));
      const Offer offer = offerOf(*driver);
      if (!offer.index) {
        found += (found.empty() ? "" : "; ") + offer.found;
        continue;
      }
      DeviceChoice choice;
      SINTER_ASSIGN(choice.device, driver->open(*offer.index, {threads, kWatchdogSeconds}));
      choice.why = "device: " + offer.found + ", the first hardware GPU" +
                   (found.empty() ? "" : " (" + found + ")");
      return choice;
    }
  SINTER_ASSIGN(hal::Driver * cpu, registry.find("cpu"));
  DeviceChoice choice;
  SINTER_ASSIGN(choice.device, cpu->open(0, {threads}));
  if (always)
    choice.why = "device: cpu " + describe(choice.device->info()) + ", since " + found;
  return choice;
}

} // namespace

std::optional<DeviceName> parseDeviceName(std::string_view text) {
  if (text == "auto")
    return DeviceName{"auto"};
  const size_t colon = text.find(':');
  DeviceName name{std::string(text.substr(0, colon))};
  if (std::find(std::begin(kDrivers), std::end(kDrivers), name.driver) == std::end(kDrivers))
    return std::nullopt;
  if (colon == std::string_view::npos)
    return name;
  const char *end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, name.index);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(name) : std::nullopt;
}

std::vector<std::string> deviceNames() {
  std::vector<std::string> names = {"auto"};
  names.insert(names.end(), std::begin(kDrivers), std::end(kDrivers));
  return names;
}

bool isSoftware(const hal::DeviceInfo &info) {
  return info.name.ends_with("(software)");
}

Result<void> addDrivers(hal::DriverRegistry &registry) {
  SINTER_TRY(hal::addCpuDriver(registry));
  SINTER_TRY(hal::addCudaDriver(registry));
  return hal::addVulkanDriver(registry);
}

Result<DeviceChoice> openDevice(const std::optional<DeviceName> &name, uint32_t threads) {
  hal::DriverRegistry registry;
  SINTER_TRY(addDrivers(registry));
  if (!name || name->driver == "auto")
    return chooseDevice(registry, threads, name.has_value());
  SINTER_ASSIGN(hal::Driver * driver, registry.find(name->driver));
  DeviceChoice choice;
  const double watchdog = name->driver == "cpu" ? 0 : kWatchdogSeconds;
  SINTER_ASSIGN(choice.device, driver->open(name->index, {threads, watchdog}));
  return choice;
}

} // namespace sinter::host
