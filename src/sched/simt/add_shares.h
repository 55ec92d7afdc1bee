// Matmuls by groups that add up shares of K one after another, in one loop with what they read
// ahead.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// A kernel's attribute: how many of its thread blocks a multiprocessor should hold at once.
inline constexpr llvm::StringLiteral kResidentName = "sched.resident";

/// Whether a loop takes one share of K: from the counter of a loop over shares on, which has steps
/// of `unit`, in steps as long as all shares' units.
bool isOfShares(mlir::scf::ForOp loop, int64_t unit);

/// Makes the two loops of such a matmul one, so that nothing waits at the end of a share. Its left
/// operand goes to a multistage shared-memory pipeline by asynchronous copies, once for all
/// subgroups. Where it is no tile of memory, the loops stay as they are.
///
/// Where the kernel's schedule says so (kShareBlocks) and the processor can, the shares are those
/// of as many blocks of the program instead, which add them up in the same order at the end.
void addShares(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
