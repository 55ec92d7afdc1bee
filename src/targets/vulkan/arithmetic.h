// Elementwise operations of SIMT IR in SPIR-V.
#pragma once

#include "targets/vulkan/code.h"

namespace sinter::targets::vulkan {

/// What the device does itself.
struct Native {
  bool half = false;   // it widens f16
  bool bfloat = false; // it rounds to bf16
  bool fma = false;    // its fma rounds once
  bool wide = false;   // it computes with f64, which stands in for such an fma
};

/// The value of `op`, of arith or math, for one element: `x` are its operands' elements. Null where
/// SPIR-V has no form for it.
///
/// Accumulators, products, conversions, minima and maxima are exact to the last bit. Vulkan lets a
/// quotient by 2^-126 to 2^126 be 2.5 units in the last place off (here 4, where the operation
/// allows a reciprocal) and a root 3, and a result below the smallest normal number be zero. An fma
/// rounds once (with f64 for it, but for one case in 2^29), twice where the device has neither.
Value elementOf(Site c, mlir::Operation *op, ArrayRef<Value> x, const Native &native);

} // namespace sinter::targets::vulkan
