// Software pipelining of matmuls: asynchronous copies bring a loop's operand tiles into a
// multistage shared-memory pipeline some steps before the matmul reads them; without such copies
// threads load them one step before.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Rewrites each loop of `kernel` whose matmul takes two 16-bit tiles as they are loaded. The loads
/// become stage copies into pipelines with as many stages as shared memory allows. If the
/// processor has an instruction that reads shared memory, the matmul reads the pipelines. Otherwise
/// it multiplies part by part along K what was read one part before, and the loop hands the next
/// step's first part on. Other loops stay as they are.
///
/// The right tile may be dequantized from blocks too: while the matmul of one step runs, threads
/// make the next step's tile and store it to a stage.
void pipelineDots(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts);

/// The operations of `loop` that dequantize a tile of blocks which the step alone decides, in their
/// order; none for other tiles.
llvm::SmallVector<mlir::Operation *> dequantizersOf(mlir::scf::ForOp loop, mlir::Value tile);

/// Whether stage copies can stand for a load: of a view that nobody writes, whole pieces of 16
/// bytes in memory.
bool isFetchable(tile::LoadOp load);

} // namespace sinter::sched
