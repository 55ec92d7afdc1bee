// Loads of a loop in SIMT form that can be issued before their round.
#pragma once

#include "sched/sched.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Loads of constant views whose places the loop's counter decides, and the operations of its body
/// that the places need, in order.
struct LoadsAhead {
  mlir::SmallVector<ViewLoadOp> loads;
  llvm::SetVector<mlir::Operation *> needed;
};

LoadsAhead loadsAhead(mlir::scf::ForOp loop);
/// at < end.
mlir::Value isBelow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value at, mlir::Value end);
/// Moves what `values` need before `place`, in its block; false, and nothing is moved, where that
/// reads memory.
bool makeBefore(mlir::ValueRange values, mlir::Operation *place);

} // namespace sinter::sched
