// Products ahead of their operands: tiles that a loop multiplies are fetched to pipelines in shared
// memory some steps before.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Rewrites each loop of `kernel` whose product takes two 16-bit tiles as they are loaded: the
/// loads become fetches to pipelines as deep as shared memory allows. With an instruction that
/// reads shared memory the product reads the pipelines; others multiply part by part along K what
/// was read a part before, and the loop hands the next step's first part on. Loops that it declines
/// keep their form.
void pipelineDots(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts);

} // namespace sinter::sched
