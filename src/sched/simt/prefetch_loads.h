// Loads of a loop's next round, issued before this round's work.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// On a kernel whose loops should read one round ahead.
inline constexpr llvm::StringLiteral kReadsAhead = "sched.reads_ahead";

/// Of loops in SIMT form that write no memory and wait for nobody: what they load of constant views
/// where the counter alone decides is loaded for the next round while this one runs, and for the
/// first one before the launches before this one have ended. Activations lie in caches: they are
/// not worth the registers (28672 x 4096 of Q8_0 on an H100, one token: 48.6 us without, 52.6
/// with).
///
/// In the last round there is nothing to load ahead. Where the processor selects addresses, what
/// that round has is loaded again instead.
void prefetchLoads(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
