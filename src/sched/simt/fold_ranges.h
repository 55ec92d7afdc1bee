// Comparisons of numbers whose bounds are known.
#pragma once

#include "sched/sched.h"

namespace sinter::sched {

/// Replaces integers of SIMT IR that can have one value only by constants: checks of static
/// extents above all, whose outcome follows from how many threads and programs there are. `steps`:
/// a counter ends at the last whole step below its bound, not just below the bound.
mlir::LogicalResult foldRanges(mlir::ModuleOp module, bool steps);

} // namespace sinter::sched
