// Where a product of queries, keys, values or several of them goes: rotated, to attention's
// operands.
#pragma once

#include "kernels/gemm.h"

namespace sinter::kernels {

// The product's columns are `heads` heads of queries, which may be none, then `kvHeads` of keys and
// as many of values, as far as it makes these. In heads of queries and keys column i is stored
// rotated with column i + headDim / 2; the product has them in groups, `group` of the first half of
// a head beside their partners of the second: halves of a head where it is 0.
struct QkvEpilogue {
  int64_t heads = 8, kvHeads = 8, headDim = 64, pageRows = 64, group = 0;
  kernel::Element out = kernel::F32, cache = kernel::F16;
  bool keys = true, values = true;

  int64_t allHeads() const { return heads + (int64_t(keys) + int64_t(values)) * kvHeads; }
};

// Arguments, but for those of heads that the product does not make: rotations f32 [T, headDim]
// (cosines, then sines), slots i32 [T] (page * pageRows + row; negative: not stored), k_cache and
// v_cache as for KvAppend, q [T, heads, headDim]. Tiles are a head wide, or a part of one that
// holds whole groups with their partners; a pool of a block format has whole blocks in each group
// or tiles a head wide.
EpilogueStore qkvStore(const QkvEpilogue &p);

// A matrix product into that sink: n of the product follows from the heads, blockN is that of a
// head or, where there are groups, of one group with its partners.
struct QkvGemm {
  Gemm gemm;
  QkvEpilogue heads;
};

void qkvGemm(kernel::KernelBuilder &k, const QkvGemm &p);
void visitFields(QkvGemm &p, FieldVisitor &visitor);

} // namespace sinter::kernels
