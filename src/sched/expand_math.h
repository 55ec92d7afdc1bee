// Transcendental functions as arithmetic of our own, so that every target and the scheduled
// interpreter agree bit for bit.
#pragma once

#include "tile/mlir_pch.h"

namespace sinter::sched {

struct MathOptions {
  /// Keep exp2 as the processor's own function (good to 2 units in the last place, subnormal
  /// results as zero), and exp in terms of it; marks them afn.
  bool ownExp2 = false;
};

/// Rewrites math.exp, exp2, log, log2, tanh, erf, sin, cos and rsqrt on f32 scalars and tiles below
/// `root` into arith and math.fma. Polynomials are minimax or Taylor forms on reduced ranges; worst
/// errors are stated beside each. Fails with a diagnostic on another math function or element type.
mlir::LogicalResult expandMath(mlir::Operation *root, const MathOptions &options = {});

} // namespace sinter::sched
