// Loads early: what a kernel will read anyway is on its way while it waits for something else.
#pragma once

#include "sched/sched.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Moves loads of views that nobody writes up to where their operands are known, within their
/// block, as long as `threads` threads hold at most `mostElements` elements each of what is loaded
/// early.
void hoistLoads(tile::KernelOp kernel, int64_t threads, int64_t mostElements);

} // namespace sinter::sched
