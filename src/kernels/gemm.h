// The matrix product kernel: out = epilogue(prologue(A) . B) with f32 accumulation in ascending K.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

// Arguments: a [M, K] ([K, M] with transposeA), b [K, N] ([N, K] with transposeB), out [M, N]. Grid
// x walks N, y walks M. `batched` products have a first axis more, which grid z walks: a and b are
// plain then, slots see each product alike, and there is no sink. Slots that look at a's view want
// one [M, K].
// Operands of one plain type multiply as they are, of two as f32. Where b is a block format,
// transposeB must hold and a is one too, or is quantised to `activation` as it is loaded; with a
// float as `activation` b is dequantized and both become that.
// `prologue` is prepared, sees a's f32 tile, and having one makes a f32 first; `epilogue` sees the
// f32 accumulator. With a `sink`, which takes the epilogue's tiles, there is no out: the sink's
// arguments take its place.
struct Gemm {
  kernel::Element a = kernel::F32, b = kernel::F32, out = kernel::F32;
  kernel::Element activation = kernel::block("q8a");
  bool batched = false;
  bool transposeA = false, transposeB = true;
  bool constantB = false;                   // b is the same in every launch
  int64_t n = kernel::dyn, k = kernel::dyn; // where they are static
  int64_t blockM = 240, blockN = 512, blockK = 128;
  int64_t interleave = 0; // rows of b packed side by side
  Slot prologue, epilogue;
  EpilogueStore epilogueStore;
};

void gemm(kernel::KernelBuilder &k, const Gemm &p);
void visitFields(Gemm &p, FieldVisitor &visitor);
// Those fields that a product with a sink has too.
void visitMatmul(Gemm &p, FieldVisitor &visitor);

} // namespace sinter::kernels
