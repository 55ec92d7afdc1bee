// Elementwise operations of the lane form in SPIR-V.
#pragma once

#include "target/vulkan/code.h"

namespace sinter::target::vulkan {

/// The value of `op`, of arith or math, for one element: `x` are its operands' elements. Null where
/// SPIR-V has no form for it. `nativeHalf`: the device computes with f16.
///
/// Sums, products, conversions, minima and maxima are exact to the last bit. Vulkan lets a quotient
/// be 2.5 units in the last place off and a root 3, an fma be rounded twice, and a result below the
/// smallest normal number be zero.
Value elementOf(Site c, mlir::Operation *op, ArrayRef<Value> x, bool nativeHalf);

} // namespace sinter::target::vulkan
