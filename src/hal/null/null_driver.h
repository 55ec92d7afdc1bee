// The null driver: accepts every command and executes none, to measure what the host alone costs.
#pragma once

#include "hal/hal.h"

namespace sinter::hal {

Result<void> addNullDriver(DriverRegistry &registry);

} // namespace sinter::hal
