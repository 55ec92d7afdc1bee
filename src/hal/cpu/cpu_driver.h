// The cpu driver: kernels are native functions, called for the points of a grid by a pool of
// threads.
#pragma once

#include "hal/hal.h"

namespace sinter::hal {

Result<void> addCpuDriver(DriverRegistry &registry);

} // namespace sinter::hal
