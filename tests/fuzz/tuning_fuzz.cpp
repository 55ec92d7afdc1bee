// libFuzzer target: any bytes under a right length and checksum parse to tunings that are written
// back as they were, or give an error.
#include "base/check.h"
#include "runtime/tuning_file.h"

#include <algorithm>

using namespace sinter::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size >= kTuningHeaderBytes + kTuningChecksumBytes) {
    std::ranges::copy(kTuningMagic, bytes.begin());
    for (std::size_t i = 0; i < 8; ++i)
      bytes[kTuningMagic.size() + 4 + i] = static_cast<uint8_t>(size >> (8 * i));
    sealTunings(bytes);
  }
  auto entries = parseTunings(bytes);
  if (!entries)
    return 0;
  const std::vector<uint8_t> written = serializeTunings(*entries);
  SINTER_CHECK(parseTunings(written).value() == *entries);
  return 0;
}
