// Transcendental functions as arithmetic of our own, so that every target and the scheduled
// interpreter agree bit for bit.
#pragma once

#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Rewrites math.exp, exp2, log, log2, powf, tanh, erf, sin, cos and rsqrt on f32 scalars and tiles
/// below `root` into arith and math.fma. Polynomials are minimax or Taylor forms on reduced ranges;
/// worst errors are stated beside each; an exp2 of the processor's own stays where it is good,
/// marked afn, subnormal results are then as good as zero. Fails with a diagnostic on another math
/// function or element type.
mlir::LogicalResult expandMath(mlir::Operation *root, OwnExp2 own = OwnExp2::Nowhere);

} // namespace sinter::sched
