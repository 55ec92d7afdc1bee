// The program that tests run under an emulator, built for the emulated architecture from the cpu
// driver's own files. Without arguments it takes bundles of kernel cases from standard input and
// gives them back with what the kernels wrote as their contents, or with an error as a label;
// `describe` says what the driver finds there.
#include "hal/cpu/cpu_driver.h"
#include "hal/cpu/host_cpu.h"
#include "hal/kernel_case.h"
#include "targets/framed_bytes.h"
#include "targets/guarded_launch.h"

#include <cstdio>

namespace sinter::targets::cpu {
namespace {

// A view's size is a whole number of elements, so its end is as aligned as they are.
GuardedLaunch launchOf(const hal::KernelCase &kernel) {
  GuardedLaunch launch{{}, kernel.scalars, kernel.spec.scratchBytes, kernel.grid};
  for (const hal::CaseView &view : kernel.views)
    launch.views.push_back({view.name, view.contents, 1, view.written});
  return launch;
}

Result<void> runCase(hal::KernelCase &kernel) {
  SINTER_TRY(hal::checkTarget(kernel.target));
  SINTER_ASSIGN(auto object, hal::SharedObject::load(kernel.code));
  auto function = reinterpret_cast<hal::CpuKernelFunction>(object->find(kernel.spec.symbol));
  if (!function)
    return fail(Code::NotFound, "code has no kernel '" + kernel.spec.symbol + "'");
  const GuardedEnd end = kernel.label == "front" ? GuardedEnd::Front : GuardedEnd::Back;
  GuardedLaunch launch = launchOf(kernel);
  if (std::string fault = launchGuarded(launch, function, end); !fault.empty())
    return fail(Code::Internal, fault);
  for (size_t i = 0; i < kernel.views.size(); ++i)
    kernel.views[i].contents = std::move(launch.views[i].bytes);
  return {};
}

int serve() {
  while (auto frame = readFrame(STDIN_FILENO)) {
    auto cases = hal::readBundle(*frame);
    if (!cases) {
      std::fprintf(stderr, "%s\n", cases.error().toString().c_str());
      return 1;
    }
    for (hal::KernelCase &kernel : *cases) {
      Result<void> done = runCase(kernel);
      kernel.label = done ? "" : done.error().message;
      kernel.code.clear();
    }
    if (!writeFrame(STDOUT_FILENO, hal::writeBundle(*cases)))
      return 1;
  }
  return 0;
}

// The target that kernels may be compiled for, and the rate of each kind of arithmetic.
Result<void> describe() {
  hal::DriverRegistry registry;
  SINTER_TRY(hal::addCpuDriver(registry));
  SINTER_ASSIGN(hal::Driver * driver, registry.find("cpu"));
  SINTER_ASSIGN(auto device, driver->open(0, {.threads = 2}));
  std::printf("%s\n", device->info().target.c_str());
  for (Arithmetic arithmetic : {Arithmetic::F32, Arithmetic::I8}) {
    SINTER_ASSIGN(hal::PeakRate rate, device->peakRate(arithmetic));
    std::printf("%s\n", rate.operationsPerSecond > 0 ? rate.source.c_str() : "no rate");
  }
  return {};
}

int run(int argc) {
  if (argc < 2)
    return serve();
  Result<void> done = describe();
  if (!done)
    std::fprintf(stderr, "%s\n", done.error().toString().c_str());
  return done ? 0 : 1;
}

} // namespace
} // namespace sinter::targets::cpu

int main(int argc, char **) {
  return sinter::targets::cpu::run(argc);
}
