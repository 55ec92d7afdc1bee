// Lists and opens NVIDIA devices.
#include "hal/cuda/cuda_driver.h"

#include "hal/cuda/cuda_module.h"
#include "hal/cuda/cuda_peak.h"
#include "hal/cuda/cuda_stream.h"

#include <cmath>
#include <cstring>

namespace sinter::hal {
namespace {

using cuda::Api;

class CudaDevice final : public Device {
public:
  explicit CudaDevice(std::unique_ptr<cuda::Context> context) : context_(std::move(context)) {}

  const DeviceInfo &info() const override { return context_->info(); }
  std::optional<uint64_t> freeBytes() override { return context_->freeBytes(); }
  bool supports(Feature feature) const override {
    return feature != Feature::HostVisible && feature != Feature::WrapMemory &&
           feature != Feature::Scratch;
  }
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes) override {
    SINTER_ASSIGN(const cuda::DevicePtr address, context_->allocate(bytes));
    return std::make_unique<cuda::CudaBuffer>(*context_, address, bytes);
  }
  Result<std::unique_ptr<Buffer>> wrap(std::span<uint8_t>) override {
    return unsupported(info(), Feature::WrapMemory);
  }
  Result<std::unique_ptr<Buffer>> wrapReadOnly(std::span<const uint8_t>) override {
    return unsupported(info(), Feature::WrapMemory);
  }
  Result<std::unique_ptr<Module>> loadModule(std::string_view target,
                                             std::span<const uint8_t> code) override {
    SINTER_TRY(cuda::checkTarget(target, info(), context_->limits().capability));
    SINTER_ASSIGN(auto assembly, cuda::Assembly::load(*context_, code, assembly_));
    return std::make_unique<cuda::CudaModule>(std::move(assembly));
  }
  Result<std::unique_ptr<Stream>> createStream() override {
    return cuda::CudaStream::create(*context_);
  }
  Result<std::unique_ptr<Event>> createEvent() override {
    return cuda::CudaEvent::create(*context_);
  }
  Result<std::unique_ptr<Readback>> createReadback(uint64_t bytes) override {
    return cuda::CudaReadback::create(*context_, bytes);
  }
  Result<PeakRate> peakRate(Arithmetic arithmetic) override {
    const cuda::DeviceLimits &limits = context_->limits();
    SINTER_ASSIGN(const uint32_t products, cuda::productsPerClock(limits.capability, arithmetic));
    const double rate = 2.0 * products * info().computeUnits * limits.clockHz;
    return PeakRate{rate, std::to_string(info().computeUnits) + " units times " +
                              std::to_string(products) + " products a clock, as published, at " +
                              std::to_string(std::lround(limits.clockHz / 1e6)) + " MHz"};
  }

  void setAssembly(const CudaAssembly &assembly) { assembly_ = assembly; }

private:
  std::unique_ptr<cuda::Context> context_;
  CudaAssembly assembly_;
};

Result<DeviceInfo> describe(const Api &api, cuda::DeviceOrdinal device) {
  std::array<char, 256> name = {};
  SINTER_TRY(api.check(api.deviceGetName(name.data(), int32_t(name.size()) - 1, device),
                       "cuDeviceGetName"));
  std::size_t bytes = 0;
  SINTER_TRY(api.check(api.deviceTotalMem(&bytes, device), "cuDeviceTotalMem"));
  int32_t units = 0;
  SINTER_TRY(api.check(api.deviceGetAttribute(&units, cuda::kMultiprocessorCount, device),
                       "cuDeviceGetAttribute"));
  SINTER_ASSIGN(const cuda::DeviceLimits limits, cuda::deviceLimits(api, device));
  return DeviceInfo{"cuda", name.data(), "cuda:sm_" + std::to_string(limits.capability), bytes,
                    static_cast<uint32_t>(units)};
}

class CudaDriver final : public Driver {
public:
  explicit CudaDriver(CudaLibraryOpener opener) : opener_(opener) {}

  std::string_view name() const override { return "cuda"; }
  Result<std::vector<DeviceInfo>> devices() override {
    SINTER_ASSIGN(const auto api, this->api());
    int32_t count = 0;
    SINTER_TRY(api->check(api->deviceGetCount(&count), "cuDeviceGetCount"));
    if (count <= 0)
      return fail(Code::NotFound, "the NVIDIA driver finds no device");
    std::vector<DeviceInfo> devices;
    for (int32_t i = 0; i < count; ++i) {
      SINTER_ASSIGN(const cuda::DeviceOrdinal device, ordinal(*api, i));
      SINTER_ASSIGN(DeviceInfo info, describe(*api, device));
      devices.push_back(std::move(info));
    }
    return devices;
  }
  Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions &options) override {
    if (!std::isfinite(options.watchdogSeconds) || options.watchdogSeconds < 0)
      return fail(Code::InvalidArgument, "a watchdog of " +
                                             std::to_string(options.watchdogSeconds) +
                                             " seconds asked for, expected at least 0");
    SINTER_ASSIGN(auto infos, devices());
    if (index >= infos.size())
      return fail(Code::NotFound, "driver 'cuda' has " + std::to_string(infos.size()) +
                                      (infos.size() == 1 ? " device" : " devices") +
                                      ", none of index " + std::to_string(index));
    SINTER_ASSIGN(const auto api, this->api());
    SINTER_ASSIGN(const cuda::DeviceOrdinal device, ordinal(*api, static_cast<int32_t>(index)));
    SINTER_ASSIGN(auto context, cuda::Context::open(api, device, std::move(infos[index]),
                                                    options.watchdogSeconds));
    return std::make_unique<CudaDevice>(std::move(context));
  }

private:
  static Result<cuda::DeviceOrdinal> ordinal(const Api &api, int32_t index) {
    cuda::DeviceOrdinal device = 0;
    SINTER_TRY(api.check(api.deviceGet(&device, index), "cuDeviceGet"));
    return device;
  }
  const Result<std::shared_ptr<const Api>> &api() {
    if (!api_)
      api_ = load();
    return *api_;
  }
  Result<std::shared_ptr<const Api>> load() const {
    SINTER_ASSIGN(auto library, opener_());
    return Api::load(std::move(library));
  }

  CudaLibraryOpener opener_;
  std::optional<Result<std::shared_ptr<const Api>>> api_; // none before it is first asked for
};

} // namespace

Result<void> setCudaAssembly(Device &device, const CudaAssembly &assembly) {
  auto *cuda = dynamic_cast<CudaDevice *>(&device);
  if (!cuda)
    return fail(Code::Unsupported, "device '" + device.info().name + "' of driver '" +
                                       device.info().driver + "' has no assembler of PTX");
  cuda->setAssembly(assembly);
  return {};
}

Result<void> addCudaDriver(DriverRegistry &registry, CudaLibraryOpener opener) {
  return registry.add(std::make_unique<CudaDriver>(opener));
}

} // namespace sinter::hal
