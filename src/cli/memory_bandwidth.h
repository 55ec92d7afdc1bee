// The rate at which a device's threads read memory, for the floor that explain shows.
#pragma once

#include "hal/hal.h"

namespace sinter::cli {

// Bytes per second over memory far larger than the caches, the best of a few passes. Exhausted
// where there is no such memory.
Result<double> readBandwidth(hal::Device &device);

} // namespace sinter::cli
