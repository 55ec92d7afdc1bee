// libFuzzer target: any bytes under a right length and checksum are read as cases that are written
// back as they were, or give an error; cases run on a driver that drops commands, or are refused.
#include "base/check.h"
#include "hal/kernel_case.h"
#include "hal/null/null_driver.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::hal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size >= kBundleHeaderBytes + kChecksumBytes) {
    std::ranges::copy(kBundleMagic, bytes.begin());
    bytes[kBundleMagic.size()] = kBundleVersion;
    sealBundle(bytes);
  }
  auto cases = readBundle(bytes);
  if (!cases)
    return 0;
  SINTER_CHECK(writeBundle(*cases) == bytes);
  DriverRegistry registry;
  SINTER_CHECK(addNullDriver(registry).has_value());
  auto device = registry.find("null").value()->open(0, {});
  for (const KernelCase &kernel : *cases)
    (void)runCase(**device, kernel);
  return 0;
}
