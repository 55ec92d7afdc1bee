// Panels in the scheduled interpreter: expanding blocks, and matmuls with what they become.
#pragma once

#include "sched/sched.h"
#include "tile/interpreter/engine.h"

namespace sinter::sched {

Result<void> executeExpand(ExpandOp op, tile::Task &task);
Result<void> executeTotalScales(TotalScalesOp op, tile::Task &task);
Result<void> executePanelDot(PanelDotOp op, tile::Task &task);
Result<void> executeScaleTotals(ScaleTotalsOp op, tile::Task &task);
Result<void> executeAddScaled(AddScaledOp op, tile::Task &task);

} // namespace sinter::sched
