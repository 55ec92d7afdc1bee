// The vulkan device, and the driver that opens it.
#include "hal/vulkan/vulkan_driver.h"

#include "hal/vulkan/instance.h"
#include "hal/vulkan/vulkan_stream.h"

#include <cmath>
#include <cstring>

namespace sinter::hal {
namespace vulkan {
namespace {

constexpr double kMaxWatchdogSeconds = 1e6;

DeviceInfo infoOf(const PhysicalDevice &device) {
  return {"vulkan", device.name, device.target.text(), device.memoryBytes, device.computeUnits};
}

class VulkanDevice final : public Device {
public:
  static Result<std::unique_ptr<Device>> open(std::unique_ptr<Context> context) {
    std::unique_ptr<VulkanDevice> device(new VulkanDevice(std::move(context)));
    SINTER_ASSIGN(device->setup_, VulkanStream::create(device->memory_, device->info_));
    return device;
  }

  const DeviceInfo &info() const override { return info_; }
  std::optional<uint64_t> freeBytes() override { return context_->freeBytes(); }
  bool supports(Feature feature) const override {
    switch (feature) {
    case Feature::Execute:
    case Feature::CapturedGraph:
      return true;
    case Feature::HostVisible:
      return context_->mapped();
    case Feature::Timing:
      return context_->physical().timestampBits != 0;
    case Feature::WrapMemory:
    case Feature::Scratch:
      return false;
    }
    return false;
  }
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes) override;
  Result<std::unique_ptr<Buffer>> wrap(std::span<uint8_t>) override {
    return unsupported(info_, Feature::WrapMemory);
  }
  Result<std::unique_ptr<Buffer>> wrapReadOnly(std::span<const uint8_t>) override {
    return unsupported(info_, Feature::WrapMemory);
  }
  Result<std::unique_ptr<Module>> loadModule(std::string_view target,
                                             std::span<const uint8_t> code) override {
    return VulkanModule::load(memory_, info_, target, code);
  }
  Result<std::unique_ptr<Stream>> createStream() override {
    return VulkanStream::create(memory_, info_);
  }
  Result<std::unique_ptr<Event>> createEvent() override {
    SINTER_TRY(context_->alive());
    return VulkanEvent::create(*context_, info_);
  }
  Result<std::unique_ptr<Readback>> createReadback(uint64_t bytes) override {
    SINTER_TRY(context_->alive());
    SINTER_ASSIGN(MemoryRange memory, memory_.allocate(MemoryUse::Staging, bytes));
    return std::make_unique<VulkanReadback>(std::move(memory), bytes);
  }

private:
  explicit VulkanDevice(std::unique_ptr<Context> context)
      : info_(infoOf(context->physical())), context_(std::move(context)), memory_(*context_) {}

  DeviceInfo info_;
  std::unique_ptr<Context> context_;
  Memory memory_;
  std::unique_ptr<VulkanStream> setup_; // zeroes new buffers
};

Result<std::unique_ptr<Buffer>> VulkanDevice::allocate(uint64_t bytes) {
  SINTER_ASSIGN(MemoryRange range, memory_.allocate(MemoryUse::Device, bytes));
  if (range.host())
    std::memset(range.host(), 0, bytes);
  auto buffer = std::make_unique<VulkanBuffer>(bytes, std::move(range));
  if (!context_->mapped()) {
    SINTER_TRY(setup_->fill(*buffer, 0, bytes, 0));
    SINTER_TRY(setup_->synchronize());
  }
  return buffer;
}

class VulkanDriver final : public Driver {
public:
  explicit VulkanDriver(const VulkanOptions &options) : options_(options) {}

  std::string_view name() const override { return "vulkan"; }
  Result<std::vector<DeviceInfo>> devices() override {
    SINTER_TRY(findDevices());
    std::vector<DeviceInfo> infos;
    for (const PhysicalDevice &device : instance_->devices())
      infos.push_back(infoOf(device));
    return infos;
  }
  Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions &options) override {
    SINTER_TRY(findDevices());
    const auto &devices = instance_->devices();
    if (index >= devices.size())
      return fail(Code::NotFound, "driver 'vulkan' has " + std::to_string(devices.size()) +
                                      (devices.size() == 1 ? " device" : " devices") +
                                      ", none of index " + std::to_string(index));
    const double seconds = options.watchdogSeconds;
    if (!(seconds >= 0 && seconds <= kMaxWatchdogSeconds))
      return fail(Code::InvalidArgument, "a watchdog of " + std::to_string(seconds) +
                                             " s, expected 0 to " +
                                             std::to_string(kMaxWatchdogSeconds));
    const PhysicalDevice &device = devices[index];
    const bool mapped = options_.mapping != VulkanOptions::Mapping::Never && device.unified() &&
                        device.hasMappableMemory();
    SINTER_ASSIGN(auto context, Context::create(instance_, device, mapped,
                                                static_cast<uint64_t>(std::ceil(seconds * 1e9))));
    return VulkanDevice::open(std::move(context));
  }

private:
  Result<void> findDevices() {
    if (!instance_) {
      SINTER_ASSIGN(instance_, Instance::create(options_));
    }
    if (!instance_->devices().empty())
      return {};
    const std::string unusable = instance_->unusableText();
    if (unusable.empty())
      return fail(Code::NotFound, "the Vulkan loader finds no device");
    return fail(Code::Unsupported, "no Vulkan device can be used: " + unusable);
  }

  VulkanOptions options_;
  std::shared_ptr<Instance> instance_;
};

} // namespace
} // namespace vulkan

Result<void> addVulkanDriver(DriverRegistry &registry, const VulkanOptions &options) {
  return registry.add(std::make_unique<vulkan::VulkanDriver>(options));
}

} // namespace sinter::hal
