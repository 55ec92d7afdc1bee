// What the operations of a body must be to one another.
#pragma once

#include "graph/fuse/launch.h"

namespace sinter::graph {

/// Whether the prologue makes the main operation's operand, and what follows that operation is a
/// form that its kernel has, with the row order and columns of that form. Slots and attributes are
/// verified by themselves already.
mlir::LogicalResult verifyBody(LaunchOp launch);

} // namespace sinter::graph
