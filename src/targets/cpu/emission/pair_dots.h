// Matmuls of bf16 as the processor's instruction makes them: two elements of K at a time.
#pragma once

#include "targets/cpu/facts.h"
#include "tile/tile.h"

namespace sinter::targets::cpu {

/// Gives the products of tiles of bf16 words of two neighbours along K where the processor
/// multiplies such words, and the tiles are whole vectors of them.
void pairDots(tile::KernelOp kernel, const CpuFacts &facts);

} // namespace sinter::targets::cpu
