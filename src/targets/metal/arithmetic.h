// Elementwise operations of SIMT IR as MSL expressions.
#pragma once

#include "targets/metal/facts.h"
#include "targets/metal/source.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::metal {

/// The value of `op`, of arith or math, for one element: `x` are expressions of its operands'
/// elements, which bind as tightly as names do. Adds the helpers that it needs; empty where MSL
/// has no form for it.
///
/// Exact to the last bit where the processor keeps subnormal numbers, but for functions that the
/// operation allows to be approximate. f16 and bf16 are computed in f32 and rounded.
std::string elementOf(mlir::Operation *op, llvm::ArrayRef<std::string> x, const MetalFacts &facts,
                      Helpers &helpers);

} // namespace sinter::targets::metal
