// The operations that may stand in a map's or a fold's region: the part of arith and math that
// every kernel and the evaluator compute.
#pragma once

#include "mlir/IR/Operation.h"

namespace sinter::graph {

/// Names of these operations beside arith.constant, in ascending order. Floats compute in f32: f16
/// and bf16 are only converted, compared and selected, i1 is only converted, selected and combined
/// by andi, ori and xori. arith.fptosi truncates; numbers beyond i32 give any i32. Shifts by 32 or
/// more give any i32.
llvm::ArrayRef<llvm::StringLiteral> scalarOps();

/// Whether `op` may stand in such a region; a diagnostic on it otherwise.
mlir::LogicalResult verifyScalarOp(mlir::Operation &op);

} // namespace sinter::graph
