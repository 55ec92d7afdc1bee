// Float operations that processors have no exact instruction for, as ones that they have.
#pragma once

#include "tile/mlir_pch.h"

namespace sinter::targets::cpu {

/// Rewrites arith and math operations below `root`, on scalars and vectors, so that no library call
/// is left and results are those of the tile interpreter: bf16 arithmetic runs in f32 and is
/// rounded by integer operations, f64 and integers reach f16 and bf16 with one rounding, and float
/// to integer saturates with NaN as zero.
void lowerFloats(mlir::Operation *root);

} // namespace sinter::targets::cpu
