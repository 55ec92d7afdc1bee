// Layout assignment: decides how many threads a program has and where each tile's elements lie.
#pragma once

#include "sched/lane_facts.h"
#include "sched/sched.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// How many threads a program of `kernel` should have, for its largest tile.
int64_t chooseThreads(tile::KernelOp kernel, const LaneFacts &facts);

/// Gives every tile of `kernel`, which has `sched.threads`, that is not of a block format a
/// #sched.lanes layout, inserts sched.convert where two must differ. Values that meet in
/// elementwise operations or loops share one layout: that of a product's sums where there is one,
/// else that of the larger tile that they are reduced from or broadcast to, else one whose threads
/// read and write neighbours in memory.
mlir::LogicalResult assignLanes(tile::KernelOp kernel, const LaneFacts &facts);

} // namespace sinter::sched
