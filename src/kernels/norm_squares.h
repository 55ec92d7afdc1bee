// A root mean square norm in two halves: the kernel that makes rows also stores sums of squares of
// groups of their columns, and a kernel that reads the rows adds these up and scales what it reads.
// Both add neighbours in pairs, so that a row's bits depend on its length alone.
#pragma once

#include "kernels/gemm.h"

namespace sinter::kernels {

// Columns whose squares are one sum.
inline constexpr int64_t kSquareColumns = 16;

// Sums of `group` neighbouring columns, a power of two that divides those of the f32 tile [rows,
// columns].
Tile sumNeighbours(Tile tile, int64_t rows, int64_t columns, int64_t group);

// Stores the sums of squares of an f32 tile of whole groups in `squares`, f32 [M, N / group].
void storeSquares(const View &squares, const TilePlace &place, const Tile &tile);

// Rows of `columns` f32 elements over their root mean square, times a weight, for a kernel that
// prepares its slot. Arguments: norm_squares f32 [M, columns / group], norm_weight [1, columns] and
// norm_eps f32.
Slot squaresNormSlot(Element weight, int64_t columns);

// A GEMM with that prologue: its arguments follow the GEMM's.
struct NormGemm {
  Gemm gemm;
};

void normGemm(KernelBuilder &k, const NormGemm &p);
void visitFields(NormGemm &p, FieldVisitor &visitor);

} // namespace sinter::kernels
