// Wraps everything that a device makes, counts it, and draws faults in front of the calls.
#include "hal/chaos/chaos_driver.h"

#include <random>

namespace sinter::hal {
namespace {

// One living thing of a kind, for the ledger.
class Counted {
public:
  Counted(std::shared_ptr<ChaosLedger> ledger, int64_t ChaosLedger::*kind)
      : ledger_(std::move(ledger)), kind_(kind) {
    ++((*ledger_).*kind_);
  }
  ~Counted() { --((*ledger_).*kind_); }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;

private:
  std::shared_ptr<ChaosLedger> ledger_;
  int64_t ChaosLedger::*kind_;
};

// What a device and its streams draw their faults from.
class Fate {
public:
  Fate(const ChaosFaults &faults, std::shared_ptr<ChaosLedger> ledger)
      : faults_(faults), ledger_(std::move(ledger)), sequence_(faults.seed) {}

  const ChaosFaults &faults() const { return faults_; }
  const std::shared_ptr<ChaosLedger> &ledger() const { return ledger_; }

  // One command more.
  Result<void> command() {
    ++ledger_->commands;
    lost_ |= faults_.lostFromCommand && commands_ >= *faults_.lostFromCommand;
    ++commands_;
    return alive();
  }
  Result<void> alive() {
    if (!lost_)
      return {};
    ++ledger_->faults;
    return fail(Code::DeviceLost, "chaos: the device is lost from command " +
                                      std::to_string(*faults_.lostFromCommand) + " on");
  }
  Result<void> draw(double chance, Code code, const char *what) {
    SINTER_TRY(alive());
    // Drawn even where nothing can fail, so that one fault's chance does not move another's.
    const double drawn = static_cast<double>(sequence_() >> 11) * 0x1p-53;
    if (drawn >= chance)
      return {};
    ++ledger_->faults;
    return fail(code,
                std::string("chaos: ") + what + " fails with seed " + std::to_string(faults_.seed));
  }

private:
  ChaosFaults faults_;
  std::shared_ptr<ChaosLedger> ledger_;
  std::mt19937_64 sequence_;
  uint64_t commands_ = 0;
  bool lost_ = false;
};

class ChaosBuffer final : public Buffer {
public:
  ChaosBuffer(std::unique_ptr<Buffer> inner, std::shared_ptr<ChaosLedger> ledger)
      : Buffer(inner->bytes(), inner->host().data(), inner->readOnly()), inner_(std::move(inner)),
        counted_(std::move(ledger), &ChaosLedger::buffers) {}

  Buffer &inner() const { return *inner_; }

private:
  std::unique_ptr<Buffer> inner_;
  Counted counted_;
};

class ChaosKernel final : public Kernel {
public:
  ChaosKernel(std::unique_ptr<Kernel> inner, std::shared_ptr<ChaosLedger> ledger)
      : Kernel(inner->spec()), inner_(std::move(inner)),
        counted_(std::move(ledger), &ChaosLedger::kernels) {}

  const Kernel &inner() const { return *inner_; }

private:
  std::unique_ptr<Kernel> inner_;
  Counted counted_;
};

class ChaosModule final : public Module {
public:
  ChaosModule(std::unique_ptr<Module> inner, std::shared_ptr<ChaosLedger> ledger)
      : inner_(std::move(inner)), ledger_(ledger),
        counted_(std::move(ledger), &ChaosLedger::modules) {}

  Result<std::unique_ptr<Kernel>> kernel(const KernelSpec &spec) override {
    SINTER_ASSIGN(auto kernel, inner_->kernel(spec));
    return std::make_unique<ChaosKernel>(std::move(kernel), ledger_);
  }

private:
  std::unique_ptr<Module> inner_;
  std::shared_ptr<ChaosLedger> ledger_;
  Counted counted_;
};

class ChaosEvent final : public Event {
public:
  ChaosEvent(std::unique_ptr<Event> inner, std::shared_ptr<ChaosLedger> ledger)
      : inner_(std::move(inner)), counted_(std::move(ledger), &ChaosLedger::events) {}

  Result<uint64_t> nanosecondsSince(const Event &start) const override {
    return inner_->nanosecondsSince(*static_cast<const ChaosEvent &>(start).inner_);
  }
  Event &inner() { return *inner_; }

private:
  std::unique_ptr<Event> inner_;
  Counted counted_;
};

class ChaosGraph final : public Graph {
public:
  ChaosGraph(std::unique_ptr<Graph> inner, std::shared_ptr<ChaosLedger> ledger)
      : inner_(std::move(inner)), counted_(std::move(ledger), &ChaosLedger::graphs) {}

  const Graph &inner() const { return *inner_; }

private:
  std::unique_ptr<Graph> inner_;
  Counted counted_;
};

class ChaosReadback final : public Readback {
public:
  ChaosReadback(std::unique_ptr<Readback> inner, Fate &fate)
      : inner_(std::move(inner)), fate_(fate) {}

  Result<std::span<const uint8_t>> wait() override {
    SINTER_TRY(fate_.alive());
    return inner_->wait();
  }
  Readback &inner() { return *inner_; }

private:
  std::unique_ptr<Readback> inner_;
  Fate &fate_;
};

Buffer &innerOf(Buffer &buffer) {
  return static_cast<ChaosBuffer &>(buffer).inner();
}
const Buffer &innerOf(const Buffer &buffer) {
  return static_cast<const ChaosBuffer &>(buffer).inner();
}

class ChaosStream final : public Stream {
public:
  ChaosStream(std::unique_ptr<Stream> inner, Fate &fate)
      : inner_(std::move(inner)), fate_(fate), counted_(fate.ledger(), &ChaosLedger::streams) {}

  Result<void> launch(const Kernel &kernel, const Grid &grid,
                      std::span<const BufferBinding> buffers,
                      std::span<const int64_t> scalars) override {
    SINTER_TRY(checkLaunch(kernel, grid, buffers, scalars));
    SINTER_TRY(fate_.command());
    SINTER_TRY(fate_.draw(fate_.faults().launch, Code::Internal, "launch"));
    std::array<BufferBinding, kMaxBindings> bindings;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      bindings[i] = {&innerOf(*buffers[i].buffer), buffers[i].offset};
    return inner_->launch(static_cast<const ChaosKernel &>(kernel).inner(), grid,
                          {bindings.data(), buffers.size()}, scalars);
  }
  Result<void> copy(Buffer &dst, uint64_t dstOffset, const Buffer &src, uint64_t srcOffset,
                    uint64_t bytes) override {
    SINTER_TRY(fate_.command());
    return inner_->copy(innerOf(dst), dstOffset, innerOf(src), srcOffset, bytes);
  }
  Result<void> fill(Buffer &dst, uint64_t offset, uint64_t bytes, uint8_t value) override {
    SINTER_TRY(fate_.command());
    return inner_->fill(innerOf(dst), offset, bytes, value);
  }
  Result<void> write(Buffer &dst, uint64_t offset, std::span<const uint8_t> bytes) override {
    SINTER_TRY(fate_.command());
    return inner_->write(innerOf(dst), offset, bytes);
  }
  Result<void> read(const Buffer &src, uint64_t offset, std::span<uint8_t> bytes) override {
    SINTER_TRY(fate_.command());
    return inner_->read(innerOf(src), offset, bytes);
  }
  Result<void> beginRead(const Buffer &src, uint64_t offset, uint64_t bytes, Readback &into,
                         uint64_t at) override {
    SINTER_TRY(fate_.command());
    return inner_->beginRead(innerOf(src), offset, bytes,
                             static_cast<ChaosReadback &>(into).inner(), at);
  }
  Result<void> record(Event &event) override {
    SINTER_TRY(fate_.command());
    return inner_->record(static_cast<ChaosEvent &>(event).inner());
  }
  Result<void> synchronize() override {
    // A lost device runs nothing any more, but the inner one has to be waited for.
    const auto alive = fate_.command();
    auto ended = inner_->synchronize();
    return alive ? ended : alive;
  }
  void beginStep() override { inner_->beginStep(); }
  void endStep() override { inner_->endStep(); }
  Result<void> beginCapture() override {
    SINTER_TRY(fate_.alive());
    return inner_->beginCapture();
  }
  Result<std::unique_ptr<Graph>> endCapture() override {
    auto ended = inner_->endCapture(); // in any case, or the inner stream keeps capturing
    SINTER_TRY(fate_.alive());
    SINTER_ASSIGN(auto graph, std::move(ended));
    return std::make_unique<ChaosGraph>(std::move(graph), fate_.ledger());
  }
  Result<void> submit(const Graph &graph) override {
    SINTER_TRY(fate_.command());
    return inner_->submit(static_cast<const ChaosGraph &>(graph).inner());
  }

private:
  std::unique_ptr<Stream> inner_;
  Fate &fate_;
  Counted counted_;
};

class ChaosDevice final : public Device {
public:
  ChaosDevice(std::unique_ptr<Device> inner, const ChaosFaults &faults,
              const std::shared_ptr<ChaosLedger> &ledger)
      : inner_(std::move(inner)), info_(inner_->info()), fate_(faults, ledger),
        counted_(ledger, &ChaosLedger::devices) {
    info_.driver = "chaos";
  }

  const DeviceInfo &info() const override { return info_; }
  std::optional<uint64_t> freeBytes() override { return inner_->freeBytes(); }
  bool supports(Feature feature) const override { return inner_->supports(feature); }
  Result<PeakRate> peakRate(Arithmetic arithmetic) override { return inner_->peakRate(arithmetic); }
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes) override {
    SINTER_TRY(fate_.draw(fate_.faults().allocation, Code::Exhausted,
                          ("allocation of " + std::to_string(bytes) + " bytes").c_str()));
    return wrapped(inner_->allocate(bytes));
  }
  Result<std::unique_ptr<Buffer>> wrap(std::span<uint8_t> memory) override {
    SINTER_TRY(fate_.alive());
    return wrapped(inner_->wrap(memory));
  }
  Result<std::unique_ptr<Buffer>> wrapReadOnly(std::span<const uint8_t> memory) override {
    SINTER_TRY(fate_.alive());
    return wrapped(inner_->wrapReadOnly(memory));
  }
  Result<std::unique_ptr<Module>> loadModule(std::string_view target,
                                             std::span<const uint8_t> code) override {
    SINTER_TRY(fate_.draw(fate_.faults().moduleLoad, Code::Corrupt, "module load"));
    SINTER_ASSIGN(auto module, inner_->loadModule(target, code));
    return std::make_unique<ChaosModule>(std::move(module), fate_.ledger());
  }
  Result<std::unique_ptr<Stream>> createStream() override {
    SINTER_TRY(fate_.alive());
    SINTER_ASSIGN(auto stream, inner_->createStream());
    return std::make_unique<ChaosStream>(std::move(stream), fate_);
  }
  Result<std::unique_ptr<Event>> createEvent() override {
    SINTER_TRY(fate_.alive());
    SINTER_ASSIGN(auto event, inner_->createEvent());
    return std::make_unique<ChaosEvent>(std::move(event), fate_.ledger());
  }
  Result<std::unique_ptr<Readback>> createReadback(uint64_t bytes) override {
    SINTER_TRY(fate_.alive());
    SINTER_ASSIGN(auto readback, inner_->createReadback(bytes));
    return std::make_unique<ChaosReadback>(std::move(readback), fate_);
  }
  void parallelFor(int64_t count, HostTask task, void *context) override {
    inner_->parallelFor(count, task, context);
  }

private:
  Result<std::unique_ptr<Buffer>> wrapped(Result<std::unique_ptr<Buffer>> buffer) {
    if (!buffer)
      return buffer;
    return std::make_unique<ChaosBuffer>(std::move(*buffer), fate_.ledger());
  }

  std::unique_ptr<Device> inner_;
  DeviceInfo info_;
  Fate fate_;
  Counted counted_;
};

class ChaosDriver final : public Driver {
public:
  ChaosDriver(DriverRegistry inner, const ChaosFaults &faults, std::shared_ptr<ChaosLedger> ledger)
      : inner_(std::move(inner)), faults_(faults), ledger_(std::move(ledger)) {}

  std::string_view name() const override { return "chaos"; }
  Result<std::vector<DeviceInfo>> devices() override {
    SINTER_ASSIGN(auto devices, inner_.drivers().front()->devices());
    for (DeviceInfo &info : devices)
      info.driver = "chaos";
    return devices;
  }
  Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions &options) override {
    SINTER_ASSIGN(auto device, inner_.drivers().front()->open(index, options));
    return std::make_unique<ChaosDevice>(std::move(device), faults_, ledger_);
  }

private:
  DriverRegistry inner_;
  ChaosFaults faults_;
  std::shared_ptr<ChaosLedger> ledger_;
};

} // namespace

Result<void> addChaosDriver(DriverRegistry &registry, DriverRegistry inner,
                            const ChaosFaults &faults, std::shared_ptr<ChaosLedger> ledger) {
  if (inner.drivers().empty())
    return fail(Code::InvalidArgument, "chaos has no driver to wrap, expected one");
  for (double chance : {faults.allocation, faults.moduleLoad, faults.launch})
    if (!(chance >= 0 && chance <= 1))
      return fail(Code::InvalidArgument,
                  "chaos has a fault of chance " + std::to_string(chance) + ", expected 0 to 1");
  if (!ledger)
    ledger = std::make_shared<ChaosLedger>();
  return registry.add(std::make_unique<ChaosDriver>(std::move(inner), faults, std::move(ledger)));
}

} // namespace sinter::hal
