// The cpu device: host memory, shared objects, and a stream that has run each command when the call
// returns.
#include "hal/cpu/cpu_driver.h"

#include "hal/cgroup.h"
#include "hal/cpu/cpu_module.h"
#include "hal/cpu/cpu_peak.h"
#include "hal/cpu/cpu_stream.h"
#include "hal/cpu/host_cpu.h"
#include "hal/cpu/numa.h"
#include "hal/cpu/thread_pool.h"
#include "hal/host_memory.h"

#include <algorithm>

namespace sinter::hal {
namespace {

constexpr uint32_t kMaxThreads = 4096;

class CpuBuffer final : public Buffer {
public:
  explicit CpuBuffer(HostMemory memory)
      : Buffer(memory.bytes(), memory.data(), false), memory_(std::move(memory)) {}
  CpuBuffer(std::span<const uint8_t> memory, bool readOnly)
      : Buffer(memory.size(), const_cast<uint8_t *>(memory.data()), readOnly) {}

private:
  std::optional<HostMemory> memory_; // none: the caller's
};

class CpuDevice final : public Device {
public:
  CpuDevice(DeviceInfo info, std::unique_ptr<ThreadPool> pool)
      : info_(std::move(info)), pool_(std::move(pool)), scratch_(pool_->threads()) {}

  const DeviceInfo &info() const override { return info_; }
  bool supports(Feature feature) const override { return feature != Feature::CapturedGraph; }
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes) override {
    SINTER_ASSIGN(HostMemory memory, HostMemory::allocate(bytes));
    return std::make_unique<CpuBuffer>(std::move(memory));
  }
  Result<std::unique_ptr<Buffer>> wrap(std::span<uint8_t> memory) override {
    return std::make_unique<CpuBuffer>(memory, false);
  }
  Result<std::unique_ptr<Buffer>> wrapReadOnly(std::span<const uint8_t> memory) override {
    return std::make_unique<CpuBuffer>(memory, true);
  }
  Result<std::unique_ptr<Module>> loadModule(std::string_view target,
                                             std::span<const uint8_t> code) override {
    SINTER_TRY(checkTarget(target));
    SINTER_ASSIGN(auto object, SharedObject::load(code));
    return std::make_unique<CpuModule>(std::move(object), scratch_);
  }
  Result<std::unique_ptr<Stream>> createStream() override {
    return std::make_unique<CpuStream>(info_, *pool_, scratch_);
  }
  Result<std::unique_ptr<Event>> createEvent() override { return std::make_unique<CpuEvent>(); }
  void parallelFor(int64_t count, HostTask task, void *context) override {
    struct Call {
      HostTask task;
      void *context;
    } call{task, context};
    pool_->run(
        count,
        [](void *argument, uint32_t, int64_t first, int64_t last) {
          const auto &call = *static_cast<Call *>(argument);
          for (int64_t i = first; i < last; ++i)
            call.task(call.context, i);
        },
        &call);
  }

  Result<PeakRate> peakRate(Arithmetic arithmetic) override {
    return measurePeak(*this, arithmetic);
  }

private:
  DeviceInfo info_;
  std::unique_ptr<ThreadPool> pool_;
  WorkerScratch scratch_;
};

class CpuDriver final : public Driver {
public:
  std::string_view name() const override { return "cpu"; }
  Result<std::vector<DeviceInfo>> devices() override {
    return std::vector<DeviceInfo>{describe(usableCpus())};
  }
  Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions &options) override {
    if (index != 0)
      return fail(Code::NotFound,
                  "driver 'cpu' has 1 device, none of index " + std::to_string(index));
    if (options.threads > kMaxThreads)
      return fail(Code::InvalidArgument, std::to_string(options.threads) +
                                             " threads asked for, expected at most " +
                                             std::to_string(kMaxThreads));
    const uint32_t threads =
        options.threads ? options.threads : std::min(usableCpus(), kMaxThreads);
    // Before the threads: hostTarget() asks for what they inherit.
    DeviceInfo info = describe(threads);
    const std::vector<NumaNode> nodes = numaNodes(kSystemRoot, allowedCpus());
    info.memoryNodes = static_cast<uint32_t>(std::max<size_t>(nodes.size(), 1));
    SINTER_ASSIGN(auto pool, ThreadPool::create(threads, nodes));
    return std::make_unique<CpuDevice>(std::move(info), std::move(pool));
  }

private:
  static DeviceInfo describe(uint32_t threads) {
    return {"cpu", hostCpuName(), hostTarget(), usableMemoryBytes(), threads};
  }
};

} // namespace

Result<void> addCpuDriver(DriverRegistry &registry) {
  return registry.add(std::make_unique<CpuDriver>());
}

} // namespace sinter::hal
