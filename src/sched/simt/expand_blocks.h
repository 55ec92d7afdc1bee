// Block formats as arithmetic: matmuls, dequantizing and quantising of blocks become operations on
// their codes, scales and minima.
#pragma once

#include "sched/sched.h"
#include "sched/simt/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::sched {

/// Rewrites every tile.dot of two block formats, tile.dequantize and stored tile.quantize of
/// `kernel` to sched.block_load, sched.block_store and arithmetic, with the same results bit for
/// bit. Formats are those of numeric/formats/dot_packing.h, of activations Q8A alone. What cannot
/// be rewritten is a diagnostic.
mlir::LogicalResult expandBlocks(tile::KernelOp kernel, const SimtFacts &facts);

} // namespace sinter::sched
