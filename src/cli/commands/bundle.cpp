// Bundles need no compiler: the device's driver and the file are enough.
#include "cli/commands/bundle.h"

#include "base/mapped_file.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "hal/cuda/cuda_driver.h"
#include "hal/kernel_case.h"
#include "host/device_choice.h"

#include <charconv>
#include <fstream>
#include <string_view>

namespace sinter::cli {
namespace {

struct BundleOptions {
  std::string file, device, flags, only, dump;
  bool bench = false;
  double seconds = 1;
};

Result<BundleOptions> readOptions(char *const *argv) {
  BundleOptions options;
  options.file = argv[3];
  options.bench = std::string_view(argv[2]) == "bench";
  for (char *const *at = argv + 4; *at; at += 2) {
    const std::string_view name = at[0];
    if (!at[1])
      return fail(Code::InvalidArgument, "found " + std::string(name) + " without a value");
    const std::string_view value = at[1];
    if (name == "--device") {
      options.device = value;
    } else if (name == "--device-flags") {
      options.flags = value;
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--dump") {
      options.dump = value;
    } else if (name == "--seconds") {
      const auto read = std::from_chars(value.data(), value.data() + value.size(), options.seconds);
      if (read.ec != std::errc() || read.ptr != value.data() + value.size() ||
          !(options.seconds >= 0 && options.seconds <= 3600))
        return fail(Code::InvalidArgument,
                    "--seconds is '" + std::string(value) + "', expected 0 to 3600");
    } else {
      return fail(Code::InvalidArgument,
                  "found " + std::string(name) +
                      ", expected --device, --device-flags, --seconds, --only or --dump");
    }
  }
  return options;
}

Result<std::unique_ptr<hal::Device>>
openDevice(hal::DriverRegistry &registry, const BundleOptions &options, const std::string &target) {
  SINTER_TRY(host::addDrivers(registry));
  const std::string name =
      options.device.empty() ? target.substr(0, target.find(':')) : options.device;
  SINTER_ASSIGN(hal::Driver * driver, registry.find(name));
  SINTER_ASSIGN(auto device, driver->open(0, {}));
  if (!options.flags.empty()) {
    SINTER_ASSIGN(const hal::CudaAssembly assembly, hal::parseCudaAssembly(options.flags));
    SINTER_TRY(hal::setCudaAssembly(*device, assembly));
  }
  return device;
}

// Cases with an expectation are run, the others timed.
bool isChecked(const hal::KernelCase &kernel) {
  for (const hal::CaseView &view : kernel.views)
    if (!view.expected.empty())
      return true;
  return false;
}

// Every view after one launch, as DIRECTORY/NAME.bin, for checks elsewhere.
Result<void> dumpViews(hal::Device &device, const hal::KernelCase &kernel,
                       const std::string &directory) {
  SINTER_ASSIGN(hal::BoundCase bound, hal::BoundCase::create(device, kernel));
  SINTER_TRY(bound.launch());
  SINTER_TRY(bound.stream().synchronize());
  for (size_t i = 0; i < kernel.views.size(); ++i) {
    SINTER_ASSIGN(const std::vector<uint8_t> bytes, bound.read(i));
    const std::string path = directory + "/" + kernel.views[i].name + ".bin";
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char *>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    if (!out.flush())
      return fail(Code::Permission, "cannot write '" + path + "'");
  }
  return {};
}

// One case's lines; true where all of its outputs are within their bounds.
Result<bool> runOne(hal::Device &device, const hal::KernelCase &kernel,
                    const BundleOptions &options) {
  std::string text = withoutControls(kernel.label) + "\n";
  bool good = true;
  if (options.bench) {
    SINTER_ASSIGN(hal::CaseTiming timing, hal::benchCase(device, kernel, options.seconds));
    text += "  " + hal::timingText(timing, kernel);
    if (!options.dump.empty())
      SINTER_TRY(dumpViews(device, kernel, options.dump));
  } else {
    SINTER_ASSIGN(std::vector<hal::Comparison> comparisons, hal::runCase(device, kernel));
    for (const hal::Comparison &comparison : comparisons) {
      text += "  " + hal::comparisonText(comparison);
      good = good && comparison.within;
    }
  }
  SINTER_TRY(writeStdout(text));
  return good;
}

} // namespace

bool namesBundle(char *const *argv) {
  if (!argv[1] || !argv[2] || !argv[3])
    return false;
  const std::string_view action = argv[2];
  return (action == "run" || action == "bench") && std::string_view(argv[3]).ends_with(".bundle");
}

Result<int> bundleCommand(char *const *argv) {
  const Result<BundleOptions> given = readOptions(argv);
  if (!given) {
    sayOnStderr(given.error().toString());
    return kExitUsage;
  }
  const BundleOptions &options = *given;
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(options.file));
  SINTER_ASSIGN(const std::vector<hal::KernelCase> cases, hal::readBundle(file.bytes()));
  if (cases.empty())
    return fail(Code::InvalidArgument, "'" + options.file + "' has no cases");
  hal::DriverRegistry registry;
  SINTER_ASSIGN(auto device, openDevice(registry, options, cases.front().target));
  size_t ran = 0, bad = 0;
  for (const hal::KernelCase &kernel : cases) {
    if (isChecked(kernel) == options.bench || kernel.label.find(options.only) == std::string::npos)
      continue;
    ++ran;
    const Result<bool> good = runOne(*device, kernel, options);
    if (!good)
      sayOnStderr(kernel.label + ": " + good.error().toString());
    if (!good && good.error().code == Code::DeviceLost)
      return kExitFailure;
    bad += !good || !*good;
  }
  SINTER_TRY(writeStdout(std::to_string(ran) + " cases on " + device->info().name + ", " +
                         std::to_string(bad) + " failed\n"));
  return bad || !ran ? kExitFailure : kExitOk;
}

} // namespace sinter::cli
