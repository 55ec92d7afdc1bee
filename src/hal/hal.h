// The abstract device: memory, native code, and streams of commands. Drivers live in leaf folders
// and are reached through a registry.
//
// Threads: a Device and everything made from it belong to one thread at a time. Lifetimes: a Device
// outlives what it made; a Kernel keeps its module's code loaded; commands refer to kernels,
// buffers and events that the caller keeps alive until synchronize() returned.
#pragma once

#include "base/status.h"
#include "numeric/arithmetic.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::hal {

inline constexpr uint64_t kBufferAlignment = 64; // of every allocated buffer's first byte
inline constexpr uint32_t kMaxBindings = 64;     // buffers of one kernel

// What a driver may lack; the calls behind it then fail with Code::Unsupported.
enum class Feature : uint8_t {
  Execute,       // commands take effect; without it they are accepted and dropped
  HostVisible,   // Buffer::host() is not empty
  WrapMemory,    // Device::wrap
  CapturedGraph, // Stream::beginCapture
  Timing,        // Event::nanosecondsSince
  Scratch,       // KernelSpec::scratchBytes above 0
};
const char *featureName(Feature feature);

// What a device is, for messages and for choosing kernels. `target` is what the compiler is asked
// for, such as "cpu:x86_64+avx2+avx512f".
struct DeviceInfo {
  std::string driver;
  std::string name;
  std::string target;
  uint64_t memoryBytes = 0;
  uint32_t computeUnits = 0;
  uint32_t memoryNodes = 1; // of the host's memory, near some of the device's threads each
};

// Device memory. Contents are zero after Device::allocate.
class Buffer {
public:
  virtual ~Buffer() = default;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  uint64_t bytes() const { return bytes_; }
  // The bytes as the host sees them, empty where it cannot. Not to be touched between a command
  // that uses the buffer and the next synchronize(). A read-only buffer's bytes must not be
  // written.
  std::span<uint8_t> host() const { return {host_, host_ ? bytes_ : 0}; }
  bool readOnly() const { return readOnly_; }

protected:
  Buffer(uint64_t bytes, uint8_t *host, bool readOnly)
      : bytes_(bytes), host_(host), readOnly_(readOnly) {}

private:
  uint64_t bytes_;
  uint8_t *host_;
  bool readOnly_;
};

// A kernel as the plan describes it.
struct KernelSpec {
  std::string symbol;
  uint32_t bufferCount = 0;
  uint32_t scalarCount = 0;
  uint64_t scratchBytes = 0; // per thread of the device that runs it
  uint32_t threads = 1;      // of one program, where programs are thread blocks
  uint64_t sharedBytes = 0;  // that the threads of one program share
  bool overlaps = false;     // it waits by itself for the launches before it, and may begin early
};

class Kernel {
public:
  virtual ~Kernel() = default;
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  const KernelSpec &spec() const { return spec_; }

protected:
  explicit Kernel(KernelSpec spec) : spec_(std::move(spec)) {}

private:
  KernelSpec spec_;
};

// Loaded native code.
class Module {
public:
  virtual ~Module() = default;

  // NotFound: the module has no such symbol. Exhausted: no memory for the scratch, or more threads
  // or shared bytes than the device has.
  virtual Result<std::unique_ptr<Kernel>> kernel(const KernelSpec &spec) = 0;
};

// A point in a stream.
class Event {
public:
  virtual ~Event() = default;

  // Nanoseconds from `start` to this event; both recorded on the same device and synchronised.
  virtual Result<uint64_t> nanosecondsSince(const Event &start) const = 0;
};

// Host memory for bytes that come from buffers while the host does something else. Outlives the
// commands that fill it.
class Readback {
public:
  virtual ~Readback() = default;

  // Waits for the Stream::beginRead() calls so far, not for commands after them. All of the memory,
  // valid until the next of these calls. DeviceLost: a command up to there failed.
  virtual Result<std::span<const uint8_t>> wait() = 0;
};

// Commands captured once to be submitted many times.
class Graph {
public:
  virtual ~Graph() = default;
};

// A buffer argument: the kernel sees the address `offset` bytes into the buffer.
struct BufferBinding {
  Buffer *buffer = nullptr;
  uint64_t offset = 0; // at most buffer->bytes()
};

using Grid = std::array<int64_t, 3>;

// Commands in order: each sees what the ones before it wrote. A command that does not fit its
// arguments (counts, ranges, a buffer that is only read) fails with InvalidArgument and changes
// nothing.
class Stream {
public:
  virtual ~Stream() = default;

  // Runs `kernel` once per point of the grid, x fastest but in parallel and in any order. Extents
  // are at least 0; an empty grid does nothing. `buffers` and `scalars` are as many as the kernel's
  // spec says and need not outlive the call. Does not allocate or lock on the cpu and null drivers.
  virtual Result<void> launch(const Kernel &kernel, const Grid &grid,
                              std::span<const BufferBinding> buffers,
                              std::span<const int64_t> scalars) = 0;
  // The ranges must not overlap.
  virtual Result<void> copy(Buffer &dst, uint64_t dstOffset, const Buffer &src, uint64_t srcOffset,
                            uint64_t bytes) = 0;
  virtual Result<void> fill(Buffer &dst, uint64_t offset, uint64_t bytes, uint8_t value) = 0;
  // Between host memory and a buffer; the host bytes are free to reuse when the call returns.
  virtual Result<void> write(Buffer &dst, uint64_t offset, std::span<const uint8_t> bytes) = 0;
  virtual Result<void> read(const Buffer &src, uint64_t offset, std::span<uint8_t> bytes) = 0;
  // Copies bytes to the readback's memory from byte `at` on, behind the commands so far. The
  // stream's device made the readback, and one stream fills it.
  virtual Result<void> beginRead(const Buffer &src, uint64_t offset, uint64_t bytes, Readback &into,
                                 uint64_t at);
  virtual Result<void> record(Event &event) = 0;
  // Waits for all commands so far. DeviceLost: one of them failed.
  virtual Result<void> synchronize() = 0;

  // A launch to come reads `bytes` bytes from here on, in the order of its points: what waits
  // meanwhile may begin to fetch them. Only advice.
  virtual void expect(const BufferBinding &from, uint64_t bytes) {}

  // Commands between beginStep() and endStep() follow one another closely: a driver may keep its
  // threads awake. Commands outside of a step are allowed and slower. Steps do not nest.
  virtual void beginStep() {}
  virtual void endStep() {}

  // Between the two, commands are kept instead of run. Writes, reads and synchronize() belong
  // outside: a driver that executes refuses them with InvalidArgument.
  virtual Result<void> beginCapture() = 0;
  virtual Result<std::unique_ptr<Graph>> endCapture() = 0;
  virtual Result<void> submit(const Graph &graph) = 0;
};

// Keeps a stream's step open for a scope.
class StepScope {
public:
  explicit StepScope(Stream &stream) : stream_(stream) { stream_.beginStep(); }
  ~StepScope() { stream_.endStep(); }
  StepScope(const StepScope &) = delete;
  StepScope &operator=(const StepScope &) = delete;

private:
  Stream &stream_;
};

// The most that all units of a device compute together.
struct PeakRate {
  double operationsPerSecond = 0;
  std::string source; // in words: measured, or what was multiplied
};

class Device {
public:
  virtual ~Device() = default;

  virtual const DeviceInfo &info() const = 0;
  // Of info().memoryBytes, what no program holds now; nothing where the device does not tell.
  virtual std::optional<uint64_t> freeBytes() { return std::nullopt; }
  virtual bool supports(Feature feature) const = 0;

  // Zeroed memory, aligned to kBufferAlignment; large buffers lie on huge pages where the system
  // has them. Exhausted, with the numbers, when there is not enough.
  virtual Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes) = 0;
  // The caller's memory as a buffer, without a copy; it must outlive the buffer. The second form
  // makes a read-only buffer.
  virtual Result<std::unique_ptr<Buffer>> wrap(std::span<uint8_t> memory) = 0;
  virtual Result<std::unique_ptr<Buffer>> wrapReadOnly(std::span<const uint8_t> memory) = 0;
  // `target` names what the code was made for. Unsupported: the device cannot run that. Corrupt:
  // not code.
  virtual Result<std::unique_ptr<Module>> loadModule(std::string_view target,
                                                     std::span<const uint8_t> code) = 0;
  virtual Result<std::unique_ptr<Stream>> createStream() = 0;
  virtual Result<std::unique_ptr<Event>> createEvent() = 0;
  virtual Result<std::unique_ptr<Readback>> createReadback(uint64_t bytes);

  // Calls task(context, i) for i in [0, count) on the host, on the device's threads where those are
  // host threads.
  using HostTask = void (*)(void *context, int64_t index);
  virtual void parallelFor(int64_t count, HostTask task, void *context);

  // Takes some milliseconds where it is measured. Unsupported: the device does not tell, or has no
  // such arithmetic.
  virtual Result<PeakRate> peakRate(Arithmetic arithmetic);
};

struct DeviceOptions {
  uint32_t threads =
      0; // of a cpu device, the caller's among them; 0: as many as the process may use
  // A wait for commands that takes longer loses the device, where a device can hang; 0: no limit.
  double watchdogSeconds = 0;
};

class Driver {
public:
  virtual ~Driver() = default;

  virtual std::string_view name() const = 0;
  virtual Result<std::vector<DeviceInfo>> devices() = 0;
  // NotFound: `index` is not below devices().size().
  virtual Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions &options) = 0;
};

// The drivers of a program, filled where it starts (addCpuDriver(registry) and so on).
class DriverRegistry {
public:
  // InvalidArgument: a driver of that name is there already.
  Result<void> add(std::unique_ptr<Driver> driver);
  // NotFound, naming the drivers there are.
  Result<Driver *> find(std::string_view name) const;
  const std::vector<std::unique_ptr<Driver>> &drivers() const { return drivers_; }

private:
  std::vector<std::unique_ptr<Driver>> drivers_;
};

// Argument checks that every driver makes the same way.
Result<void> checkRange(const Buffer &buffer, uint64_t offset, uint64_t bytes, const char *what);
Result<void> checkWritable(const Buffer &buffer, const char *what);
// Ranges inside the buffers, a writable destination, no overlap.
Result<void> checkCopy(const Buffer &dst, uint64_t dstOffset, const Buffer &src, uint64_t srcOffset,
                       uint64_t bytes);
// A range inside the buffer, and as many bytes inside the readback's `held` ones.
Result<void> checkBeginRead(const Buffer &src, uint64_t offset, uint64_t bytes, uint64_t held,
                            uint64_t at);
Result<void> checkLaunch(const Kernel &kernel, const Grid &grid,
                         std::span<const BufferBinding> buffers, std::span<const int64_t> scalars);
Fail unsupported(const DeviceInfo &device, Feature feature);

} // namespace sinter::hal
