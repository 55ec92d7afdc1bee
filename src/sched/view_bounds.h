// Where a view begins and ends along an axis, for code of any target: coordinates inside are those
// of [low, end). A window that begins before its view keeps its coordinates, so that the first ones
// lie outside; loads read padding there, and stores drop them.
#pragma once

#include "mlir/IR/Builders.h"

namespace sinter::sched {

/// Whether an index is known to be no less than 0: made of constants, counters of loops, and
/// numbers of programs.
bool isNotNegative(mlir::Value value);

/// The largest number known to divide an index; 0 for a constant 0.
int64_t divisorOf(mlir::Value value);

/// `low` of a window from `origin` on in a view that has `low`; null stands for 0.
mlir::Value lowOfWindow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value low,
                        mlir::Value origin);

/// Whether a coordinate lies inside; `low` may be null, `end` is no less than 0.
mlir::Value isWithin(mlir::OpBuilder &b, mlir::Location loc, mlir::Value at, mlir::Value low,
                     mlir::Value end);

} // namespace sinter::sched
