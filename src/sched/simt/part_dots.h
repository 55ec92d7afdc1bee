// Matmuls of dequantized blocks part by part along K: a tile has whole blocks of up to 256
// elements, of which shared memory and registers should hold fewer at once.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Gives each matmul of many rows by weights that sched.block_load dequantizes a loop over parts of
/// K, in ascending order, where both operands can be made part by part. No bit changes.
void partDots(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
