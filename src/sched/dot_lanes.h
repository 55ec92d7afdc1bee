// Layouts of products: where the sums lie.
#pragma once

#include "sched/lane_facts.h"
#include "sched/lanes.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// The layout of a product's sums over `threads` threads, each with about as many rows as columns.
LaneLayout chooseSumLayout(tile::DotOp dot, int64_t threads, const LaneFacts &facts);

} // namespace sinter::sched
