// Loops of chained products, as attention's: operands in pipelines, products a step ahead of their
// use.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Loops in which the processor's instructions multiply tiles in registers by tiles that each step
/// loads, one at least by a tile from outside of the loop: what is loaded goes through pipelines
/// that asynchronous copies fill some steps ahead, scalars that say where it lies (numbers of
/// pages) are read a step before their copies. Products that nothing but the step decides begin a
/// step before their accumulators are read, where registers hold two of them; accumulators that
/// only go around the loop are waited for where the next step reads them. Other loops stay as they
/// are.
void pipelineBackToBack(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts);

} // namespace sinter::sched
