// The most that this processor's threads multiply and add in a second, by measuring.
#pragma once

#include "hal/hal.h"

namespace sinter::hal {

// Runs the instructions that compiled kernels use for `arithmetic`, with nothing to wait for, on
// all of the device's threads, and takes the best of some passes: about 20 ms. Unsupported: kernels
// have no such products on this processor.
Result<PeakRate> measurePeak(Device &device, Arithmetic arithmetic);

} // namespace sinter::hal
