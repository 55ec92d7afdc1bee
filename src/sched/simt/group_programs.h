// The order of a matmul's programs.
#pragma once

#include "sched/sched.h"

namespace sinter::sched {

/// Renumbers the programs of a kernel of matmuls on a grid of two axes, so that neighbours share
/// operands: rows in groups, columns by columns within a group.
void groupPrograms(tile::KernelOp kernel);

} // namespace sinter::sched
