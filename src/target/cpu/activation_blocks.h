// Emission: rounding numbers to the blocks of an activation format (numeric/activation_format.h).
#pragma once

#include "tile/mlir_pch.h"

#include "numeric/activation_format.h"

namespace sinter::target::cpu {

// Writes the blocks of one scale at `blocks`, from `scaleLength` f32 elements in vectors of at
// least four lanes.
void emitActivationBlocks(mlir::OpBuilder &b, mlir::Location loc, const ActivationFormat &format,
                          mlir::ArrayRef<mlir::Value> vectors, mlir::Value blocks);

// The largest magnitude of all elements, in each of four lanes; NaN where one is.
mlir::Value largestMagnitude(mlir::OpBuilder &b, mlir::Location loc,
                             mlir::ArrayRef<mlir::Value> vectors);

} // namespace sinter::target::cpu
