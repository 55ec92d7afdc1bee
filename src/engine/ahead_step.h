// The step that begins ahead (contract::kAheadProcedure): tokens from guesses, the step, guesses.
#pragma once

#include "engine/kernel_set.h"

namespace sinter::engine {

/// Adds the procedure and its buffers to a lowered plan that gives the largest logits of rows apart
/// and states how many; it does not change other plans. Kernels are in the set.
Result<void> addAheadStep(KernelSet &kernels, plan::Plan &plan);

} // namespace sinter::engine
