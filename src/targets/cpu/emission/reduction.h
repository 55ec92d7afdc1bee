// What reductions combine elements by, on scalars, vectors and tiles.
#pragma once

#include "tile/mlir_pch.h"
#include "tile/tile.h"

namespace sinter::targets::cpu {

/// Elements that change nothing.
mlir::Value neutral(mlir::OpBuilder &b, mlir::Location loc, tile::ReduceKind kind,
                    mlir::RankedTensorType type);
/// By MaxAnyNan y where it is larger, else x: NaN in y is left out, NaN in x stays.
mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc, tile::ReduceKind kind, mlir::Value x,
                    mlir::Value y);

/// Tiles of f32 as integers of their order, NaN above all: -0 is below +0, and the largest is found
/// by one operation for each. The inverse takes any NaN for one.
mlir::Value toOrder(mlir::OpBuilder &b, mlir::Location loc, mlir::Value numbers);
mlir::Value fromOrder(mlir::OpBuilder &b, mlir::Location loc, mlir::Value order);

} // namespace sinter::targets::cpu
