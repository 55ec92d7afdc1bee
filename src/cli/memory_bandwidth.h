// The rate at which a device moves memory, for the floor that explain shows.
#pragma once

#include "hal/hal.h"

namespace sinter::cli {

struct Bandwidth {
  double bytesPerSecond = 0;
  const char *what = ""; // was measured, in words
};

// Over memory larger than most caches, the best of a few passes through it, in parts short enough
// that some are not disturbed by others. Exhausted where there is no
// such memory.
Result<Bandwidth> measureBandwidth(hal::Device &device);

} // namespace sinter::cli
