// Launches that overlap: a kernel begins while the one before it ends.
#pragma once

#include "sched/sched.h"

namespace sinter::sched {

/// Whether an access through `view` reads a kernel argument that no launch writes
/// (`tile.constant`).
bool isConstant(mlir::Value view);

/// Inserts sched.await_launches before the first operation that may read what an earlier launch
/// wrote, or that writes. Loads of constant views whose places are known by then move before it.
void overlapLaunches(tile::KernelOp kernel);

} // namespace sinter::sched
