// The GEMM kernel: out = epilogue(prologue(A) . B) with f32 accumulation in ascending K.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

// Arguments: a [M, K] ([K, M] with transposeA), b [K, N] ([N, K] with transposeB), out [M, N]. Grid
// x walks N, y walks M. A `batched` GEMM has one more axis in front, which grid z walks: a and b
// are unquantized then, slots see each GEMM alike, and there is no epilogue store. Slots that look
// at a's view want one [M, K]. Operands of one unquantized type multiply in that type, operands of
// two types in f32. If b has a block format, transposeB must hold and a has a block format too, or
// is quantized to `activation` as it is loaded. If `activation` is a float type, b is dequantized
// and both operands become that. If b is unquantized and `activation` is its type, a becomes that.
// `prologue` is prepared and sees a's f32 tile; a GEMM with a prologue converts a to f32 first.
// `epilogue` sees the f32 accumulators. `epilogueStore` takes the epilogue's tiles; its arguments
// take the place of out.
struct Gemm {
  kernel::Element a = kernel::F32, b = kernel::F32, out = kernel::F32;
  kernel::Element activation = kernel::block("q8a");
  bool batched = false;
  bool transposeA = false, transposeB = true;
  bool constantB = false;                   // b is the same in every launch
  int64_t n = kernel::dyn, k = kernel::dyn; // where they are static
  int64_t blockM = 240, blockN = 512, blockK = 128;
  // Tiles of blockM rows, one below another, that a program multiplies by each tile of b it has
  // read. A tile's bits are those of a program of its own.
  int64_t rowTiles = 1;
  int64_t interleave = 0; // rows of b in a row-interleaved group; 0: b is not packed
  // Sums are added up share by share: of so many, share i has each `shares`-th step along K from
  // step i on. K is whole multiples of all shares' steps.
  int64_t shares = 1;
  // Rows of b that a program multiplies: one run, or one of each of several parts of which b has
  // `partRows` rows in turn (transposeB, not batched).
  int64_t parts = 1, partRows = 1;
  Slot prologue, epilogue;
  EpilogueStore epilogueStore;
};

void gemm(kernel::KernelBuilder &k, const Gemm &p);
// The f32 sums of one tile: rows of `a` from place.row on by columns of `b` from `column` on, for
// kernels that find their tiles otherwise. Not batched, without parts; the prologue is begun.
Tile gemmTile(kernel::KernelBuilder &k, const Gemm &p, const View &a, const View &b,
              const TilePlace &place, const Scalar &column);
void visitFields(Gemm &p, FieldVisitor &visitor);
// Those fields that a GEMM with an epilogue store has too.
void visitMatmul(Gemm &p, FieldVisitor &visitor);

} // namespace sinter::kernels
