// The most that NVIDIA's multiprocessors multiply, as NVIDIA publishes it.
#pragma once

#include "base/status.h"
#include "numeric/arithmetic.h"

namespace sinter::hal::cuda {

// Products with their additions that one multiprocessor does in a clock: of f32 those of its cores,
// of others those of its matrix units, dense and with sums of 32 bits where a product line has
// them at the full rate. `capability` is 10 * major + minor. Unsupported: a capability that is not
// in the table.
Result<uint32_t> productsPerClock(uint32_t capability, Arithmetic arithmetic);

} // namespace sinter::hal::cuda
