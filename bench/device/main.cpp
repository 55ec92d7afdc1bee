// What the hal costs on an NVIDIA device: launches, captured graphs, transfers and copies, each as
// the median of several runs. Needs nothing but the driver; prints one table.
#include "hal/cuda/cuda_driver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

namespace sinter::hal {
namespace {

constexpr int kRuns = 7;
constexpr int kLaunches = 1000;
constexpr uint64_t kTransferBytes = uint64_t(256) << 20;
constexpr uint64_t kCopyBytes = uint64_t(2) << 30;
constexpr std::string_view kNothing = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                      ".visible .entry nothing(.param .u64 a, .param .u64 b)\n"
                                      "{ ret; }\n";

struct Bench {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> start, end;
  std::unique_ptr<Kernel> nothing;
  std::unique_ptr<Buffer> memory;
};

Result<Bench> open() {
  DriverRegistry registry;
  SINTER_TRY(addCudaDriver(registry));
  SINTER_ASSIGN(Driver * driver, registry.find("cuda"));
  Bench bench;
  SINTER_ASSIGN(bench.device, driver->open(0, {}));
  SINTER_ASSIGN(bench.stream, bench.device->createStream());
  SINTER_ASSIGN(bench.start, bench.device->createEvent());
  SINTER_ASSIGN(bench.end, bench.device->createEvent());
  const std::span<const uint8_t> code(reinterpret_cast<const uint8_t *>(kNothing.data()),
                                      kNothing.size());
  SINTER_ASSIGN(const auto module, bench.device->loadModule("cuda:sm_80", code));
  SINTER_ASSIGN(bench.nothing, module->kernel({"nothing", 1, 1, 0, 128}));
  SINTER_ASSIGN(bench.memory, bench.device->allocate(2 * kCopyBytes));
  return bench;
}

Result<void> launchMany(Bench &bench) {
  const BufferBinding bindings[] = {{bench.memory.get(), 0}};
  for (int i = 0; i < kLaunches; ++i)
    SINTER_TRY(bench.stream->launch(*bench.nothing, {132, 1, 1}, bindings, {{i}}));
  return {};
}

struct Times {
  double hostSeconds;   // until the calls returned
  double waitSeconds;   // until the work had ended
  double deviceSeconds; // between events around it
};

// The median of kRuns after one that warms up, each time on its own.
Result<Times> measure(Bench &bench, const std::function<Result<void>()> &work) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::vector<double> host, wait, device;
  for (int run = 0; run <= kRuns; ++run) {
    const auto start = Clock::now();
    SINTER_TRY(bench.stream->record(*bench.start));
    SINTER_TRY(work());
    SINTER_TRY(bench.stream->record(*bench.end));
    const double returned = since(start);
    SINTER_TRY(bench.stream->synchronize());
    const double ended = since(start);
    SINTER_ASSIGN(const uint64_t nanoseconds, bench.end->nanosecondsSince(*bench.start));
    if (run == 0)
      continue;
    host.push_back(returned);
    wait.push_back(ended);
    device.push_back(double(nanoseconds) * 1e-9);
  }
  const auto median = [](std::vector<double> &times) {
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
  };
  return Times{median(host), median(wait), median(device)};
}

Result<void> measureLaunches(Bench &bench) {
  SINTER_ASSIGN(const Times launches, measure(bench, [&] { return launchMany(bench); }));
  std::printf("| launch | %.2f us of the host, %.2f us of the device |\n",
              launches.hostSeconds / kLaunches * 1e6, launches.deviceSeconds / kLaunches * 1e6);
  SINTER_TRY(bench.stream->beginCapture());
  SINTER_TRY(launchMany(bench));
  SINTER_ASSIGN(const auto graph, bench.stream->endCapture());
  SINTER_ASSIGN(const Times submitted,
                measure(bench, [&] { return bench.stream->submit(*graph); }));
  std::printf("| launch in a captured graph of %d | %.3f us of the host, %.2f us of the device |\n",
              kLaunches, submitted.hostSeconds / kLaunches * 1e6,
              submitted.deviceSeconds / kLaunches * 1e6);
  SINTER_ASSIGN(const Times nothing, measure(bench, [] { return Result<void>(); }));
  std::printf("| two events and a wait | %.2f us |\n", nothing.waitSeconds * 1e6);
  return {};
}

Result<void> measureTransfers(Bench &bench) {
  std::vector<uint8_t> host(kTransferBytes, 1);
  const std::span<uint8_t> word = std::span(host).first(4);
  const double gigabytes = double(kTransferBytes) * 1e-9;
  SINTER_ASSIGN(const Times write,
                measure(bench, [&] { return bench.stream->write(*bench.memory, 0, host); }));
  SINTER_ASSIGN(const Times read,
                measure(bench, [&] { return bench.stream->read(*bench.memory, 0, host); }));
  std::printf("| write, read of 256 MiB | %.1f, %.1f GB/s |\n", gigabytes / write.waitSeconds,
              gigabytes / read.waitSeconds);
  SINTER_ASSIGN(const Times small,
                measure(bench, [&] { return bench.stream->write(*bench.memory, 0, word); }));
  SINTER_ASSIGN(const Times back,
                measure(bench, [&] { return bench.stream->read(*bench.memory, 0, word); }));
  std::printf("| write, read of 4 bytes | %.2f us of the host, %.2f us with the wait |\n",
              small.hostSeconds * 1e6, back.waitSeconds * 1e6);
  SINTER_ASSIGN(const Times copy, measure(bench, [&] {
                  return bench.stream->copy(*bench.memory, 0, *bench.memory, kCopyBytes,
                                            kCopyBytes);
                }));
  SINTER_ASSIGN(const Times fill, measure(bench, [&] {
                  return bench.stream->fill(*bench.memory, 0, kCopyBytes, 0);
                }));
  std::printf("| copy of 2 GiB (read + write), fill | %.0f, %.0f GB/s |\n",
              2e-9 * double(kCopyBytes) / copy.deviceSeconds,
              1e-9 * double(kCopyBytes) / fill.deviceSeconds);
  return {};
}

Result<void> benchmark() {
  SINTER_ASSIGN(Bench bench, open());
  std::printf("| %s, %s | median of %d |\n| --- | --- |\n", bench.device->info().name.c_str(),
              bench.device->info().target.c_str(), kRuns);
  SINTER_TRY(measureLaunches(bench));
  return measureTransfers(bench);
}

} // namespace
} // namespace sinter::hal

int main() {
  const auto done = sinter::hal::benchmark();
  if (!done)
    std::fprintf(stderr, "bench_device: %s\n", done.error().toString().c_str());
  return done ? 0 : 1;
}
