// Emission: rounding numbers to the blocks of an activation format
// (numeric/formats/activation_format.h).
#pragma once

#include "tile/mlir_pch.h"

#include "numeric/formats/activation_format.h"

namespace sinter::targets::cpu {

// What a block is stored as.
struct QuantizedBlock {
  mlir::SmallVector<mlir::Value> words; // of its head, in vectors of four
  mlir::SmallVector<mlir::Value> codes; // bytes
};

// Scales that are found side by side, each in four lanes of a vector.
int64_t scalesTogether(int64_t lanes);

// The blocks of some scales, one scale's after the other's, from the `scaleLength` f32 elements of
// each in vectors of at least four lanes.
mlir::SmallVector<QuantizedBlock>
quantizeActivations(mlir::OpBuilder &b, mlir::Location loc, const ActivationFormat &format,
                    mlir::ArrayRef<mlir::ArrayRef<mlir::Value>> scales);
void storeActivations(mlir::OpBuilder &b, mlir::Location loc, const ActivationFormat &format,
                      const QuantizedBlock &rounded, mlir::Value block);

// The largest magnitude of all elements, in each of four lanes; NaN where one is.
mlir::Value largestMagnitude(mlir::OpBuilder &b, mlir::Location loc,
                             mlir::ArrayRef<mlir::Value> vectors);

} // namespace sinter::targets::cpu
