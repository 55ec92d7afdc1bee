// A device whose commands are checked, counted as done and dropped. Its buffers are real host
// memory, so that weights can be loaded and inputs written.
#include "hal/null/null_driver.h"

#include "hal/host_memory.h"

namespace sinter::hal {
namespace {

class NullBuffer final : public Buffer {
public:
  explicit NullBuffer(HostMemory memory)
      : Buffer(memory.bytes(), memory.data(), false), memory_(std::move(memory)) {}
  NullBuffer(std::span<const uint8_t> memory, bool readOnly)
      : Buffer(memory.size(), const_cast<uint8_t *>(memory.data()), readOnly) {}

private:
  std::optional<HostMemory> memory_;
};

class NullKernel final : public Kernel {
public:
  explicit NullKernel(KernelSpec spec) : Kernel(std::move(spec)) {}
};

class NullModule final : public Module {
public:
  Result<std::unique_ptr<Kernel>> kernel(const KernelSpec &spec) override {
    return std::make_unique<NullKernel>(spec);
  }
};

class NullEvent final : public Event {
public:
  explicit NullEvent(const DeviceInfo &info) : info_(info) {}
  Result<uint64_t> nanosecondsSince(const Event &) const override {
    return unsupported(info_, Feature::Timing);
  }

private:
  const DeviceInfo &info_;
};

class NullGraph final : public Graph {};

class NullStream final : public Stream {
public:
  Result<void> launch(const Kernel &kernel, const Grid &grid,
                      std::span<const BufferBinding> buffers,
                      std::span<const int64_t> scalars) override {
    return checkLaunch(kernel, grid, buffers, scalars);
  }
  Result<void> copy(Buffer &dst, uint64_t dstOffset, const Buffer &src, uint64_t srcOffset,
                    uint64_t bytes) override {
    return checkCopy(dst, dstOffset, src, srcOffset, bytes);
  }
  Result<void> fill(Buffer &dst, uint64_t offset, uint64_t bytes, uint8_t) override {
    SINTER_TRY(checkWritable(dst, "fill"));
    return checkRange(dst, offset, bytes, "fill");
  }
  Result<void> write(Buffer &dst, uint64_t offset, std::span<const uint8_t> bytes) override {
    SINTER_TRY(checkWritable(dst, "write"));
    return checkRange(dst, offset, bytes.size(), "write");
  }
  Result<void> read(const Buffer &src, uint64_t offset, std::span<uint8_t> bytes) override {
    return checkRange(src, offset, bytes.size(), "read");
  }
  Result<void> record(Event &) override { return {}; }
  Result<void> synchronize() override { return {}; }
  Result<void> beginCapture() override { return {}; }
  Result<std::unique_ptr<Graph>> endCapture() override { return std::make_unique<NullGraph>(); }
  Result<void> submit(const Graph &) override { return {}; }
};

class NullDevice final : public Device {
public:
  explicit NullDevice(DeviceInfo info) : info_(std::move(info)) {}

  const DeviceInfo &info() const override { return info_; }
  bool supports(Feature feature) const override {
    return feature != Feature::Execute && feature != Feature::Timing;
  }
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes) override {
    SINTER_ASSIGN(HostMemory memory, HostMemory::allocate(bytes));
    return std::make_unique<NullBuffer>(std::move(memory));
  }
  Result<std::unique_ptr<Buffer>> wrap(std::span<uint8_t> memory) override {
    return std::make_unique<NullBuffer>(memory, false);
  }
  Result<std::unique_ptr<Buffer>> wrapReadOnly(std::span<const uint8_t> memory) override {
    return std::make_unique<NullBuffer>(memory, true);
  }
  Result<std::unique_ptr<Module>> loadModule(std::string_view, std::span<const uint8_t>) override {
    return std::make_unique<NullModule>();
  }
  Result<std::unique_ptr<Stream>> createStream() override { return std::make_unique<NullStream>(); }
  Result<std::unique_ptr<Event>> createEvent() override {
    return std::make_unique<NullEvent>(info_);
  }

private:
  DeviceInfo info_;
};

class NullDriver final : public Driver {
public:
  std::string_view name() const override { return "null"; }
  Result<std::vector<DeviceInfo>> devices() override {
    return std::vector<DeviceInfo>{{"null", "null", "null", 0, 1}};
  }
  Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions &) override {
    if (index != 0)
      return fail(Code::NotFound,
                  "driver 'null' has 1 device, none of index " + std::to_string(index));
    return std::make_unique<NullDevice>(DeviceInfo{"null", "null", "null", 0, 1});
  }
};

} // namespace

Result<void> addNullDriver(DriverRegistry &registry) {
  return registry.add(std::make_unique<NullDriver>());
}

} // namespace sinter::hal
