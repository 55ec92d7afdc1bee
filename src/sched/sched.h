// The sched dialect in C++; sched.td is the source of truth.
#pragma once

#include "tile/tile.h"

namespace sinter::sched {
/// Whether all that reads it are matmuls and totals of panels, register by register.
bool isReadAsPanel(mlir::Value value);
} // namespace sinter::sched

#include "sched/sched_dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "sched/sched_attrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "sched/sched_types.h.inc"
#define GET_OP_CLASSES
#include "sched/sched_ops.h.inc"
