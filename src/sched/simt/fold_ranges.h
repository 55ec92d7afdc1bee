// Comparisons of numbers whose bounds are known.
#pragma once

#include "sched/sched.h"

namespace sinter::sched {

/// Replaces integers of SIMT IR that can have one value only by constants: checks of static
/// extents above all, whose outcome follows from how many threads and programs there are.
mlir::LogicalResult foldRanges(mlir::ModuleOp module);

} // namespace sinter::sched
