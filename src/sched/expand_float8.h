// 8-bit floats as bytes and arithmetic of our own, so that every target stores and reads the same
// bits without instructions for them.
#pragma once

#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Rewrites views and tiles of f8E4M3FN below `root` to bytes, and conversions from and to that
/// type to integer and f32 arithmetic: rounded to nearest even, saturated at 448, NaN kept
/// (numeric/half.h: e4m3ToF32, f32ToE4m3). No subnormal f32 occurs, so targets may flush them.
/// Fails with a diagnostic on other arithmetic in the type.
mlir::LogicalResult expandFloat8(mlir::Operation *root);

} // namespace sinter::sched
