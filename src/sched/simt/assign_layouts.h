// Layout assignment: decides where each tile's elements lie.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Gives every tile of `kernel`, which has `sched.threads`, that is not of a block format a
/// #sched.layout layout, inserts sched.convert where two must differ. Values that meet in
/// elementwise operations or loops share one layout: that of a matmul's accumulators where there
/// is one, else that of the larger tile that they are reduced from or broadcast to, else one whose
/// threads read and write neighbours in memory.
void assignLayouts(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
