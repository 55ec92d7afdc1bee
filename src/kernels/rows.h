// Kernels that normalise rows: rms_norm, layer_norm, softmax. All are [M, N] to [M, N], one program
// per block of rows (grid x), with f32 arithmetic and columns in ascending blocks, so a row's bits
// depend on N and block_columns only. Norms may take the parts of a row apart, such as heads: then
// x and out are [M, parts * N], with one program per block of rows and part (grid y).
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

// What the three have in common. `prologue` maps loaded f32 values and `epilogue` those to be
// stored.
struct RowBlocks {
  kernel::Element in = kernel::F32, out = kernel::F32;
  int64_t columns = kernel::dyn; // N where it is static
  int64_t blockRows = 4, blockColumns = 512;
  Slot prologue, epilogue;
};

// Where `parts` is not 1, N is static and block_columns a divisor of it.
struct NormRows : RowBlocks {
  kernel::Element weight = kernel::F32;
  bool weighted = true; // false: no weight, and no such argument
  int64_t parts = 1;
};

// out = x / sqrt(mean(x^2) + eps) * weight. Arguments: x [M, N], weight [1, N], out [M, N], eps
// f32.
struct RmsNorm : NormRows {};

// out = (x - mean) / sqrt(variance + eps) * weight + bias, with the mean of squared deviations as
// variance. Arguments: x [M, N], weight [1, N], bias [1, N], out [M, N], eps f32.
struct LayerNorm : NormRows {
  bool biased = true; // false: no bias, and no such argument
};

// out = exp(x - max) / sum(exp(x - max)), max and sum found in one pass. Arguments: x [M, N], out
// [M, N].
struct Softmax : RowBlocks {};

// Rows of `columns` f32 elements, normalised as rmsNorm does, for a kernel that prepares its slot.
// Arguments: norm_weight [1, columns], constant, and norm_eps f32.
Slot rmsNormSlot(kernel::Element weight, int64_t columns);

void rmsNorm(kernel::KernelBuilder &k, const RmsNorm &p);
void layerNorm(kernel::KernelBuilder &k, const LayerNorm &p);
void softmax(kernel::KernelBuilder &k, const Softmax &p);

void visitFields(RmsNorm &p, FieldVisitor &visitor);
void visitFields(LayerNorm &p, FieldVisitor &visitor);
void visitFields(Softmax &p, FieldVisitor &visitor);

} // namespace sinter::kernels
