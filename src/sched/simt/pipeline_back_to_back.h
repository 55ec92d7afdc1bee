// Software pipelining of back-to-back GEMMs (attention's mainloop): operands in shared-memory
// pipelines, the first GEMM one step before its result is used.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Rewrites loops in which instructions multiply tiles in registers by tiles that each step loads;
/// at least one such register tile comes from outside of the loop. Loaded tiles go through
/// pipelines that asynchronous copies fill some steps before use. Scalars that say where a tile
/// lies (page numbers) are read one step before its copy. A matmul whose operands depend on the
/// step alone begins one step early if registers hold two of its accumulators. Accumulators that
/// only go around the loop are awaited where the next step reads them. Other loops stay as they
/// are.
void pipelineBackToBack(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts);

} // namespace sinter::sched
