// What threads load of constant views goes through shared memory of their own, steps ahead.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Of a loop in SIMT form that copies tiles to a multistage pipeline, what prefetch_loads would
/// hold in registers: each thread copies its words to shared memory that no other thread reads, in
/// the groups of the tiles' copies. Nothing waits for them but the waits for tiles. They run so
/// many rounds ahead as the kernel's schedule says (kCopiesWords), at least as many as the tiles,
/// and fewer where shared memory has no room.
///
/// Shared memory from byte `base` on is theirs. False, and nothing changed, for other loops, where
/// a load is no copy, and where shared memory has no room.
bool copyWords(tile::KernelOp kernel, mlir::scf::ForOp loop, int64_t base, const SimtFacts &facts);

} // namespace sinter::sched
