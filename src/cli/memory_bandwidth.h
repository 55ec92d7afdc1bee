// The rate at which a device moves memory, for the floor that explain shows.
#pragma once

#include "hal/hal.h"

namespace sinter::cli {

struct Bandwidth {
  double bytesPerSecond = 0;
  const char *what = ""; // was measured, in words
};

// Over memory far larger than the caches, the best of a few passes. Exhausted where there is no
// such memory.
Result<Bandwidth> measureBandwidth(hal::Device &device);

} // namespace sinter::cli
