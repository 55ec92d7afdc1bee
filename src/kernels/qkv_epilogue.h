// The QKV epilogue: the GEMM of queries, keys and values, or of some of them, applies RoPE to its
// tiles and appends keys and values to the KV cache.
#pragma once

#include "kernels/gemm.h"

namespace sinter::kernels {

// The GEMM's columns are `heads` heads of queries (0: none), then `kvHeads` of keys (`keys`), then
// `kvHeads` of values (`values`). In a head of queries or keys, the first headDim - `rest` columns
// rotate: RoPE pairs column i with the one half of these further on. The GEMM has such columns in
// groups: `group` columns of the first half, then their partners of the second half. `group` 0: a
// group is all of them. The other columns come after them. With `rest` headDim nothing rotates.
struct QkvEpilogue {
  int64_t heads = 8, kvHeads = 8, headDim = 64, rest = 0, pageRows = 64, group = 0;
  kernel::Element out = kernel::F32, cache = kernel::F16;
  bool keys = true, values = true;

  int64_t rotating() const { return headDim - rest; }
  int64_t allHeads() const { return heads + (int64_t(keys) + int64_t(values)) * kvHeads; }
};

// Arguments, except those of heads that the GEMM does not make: rotations f32 [T, headDim - rest]
// (the RoPE table: cosines, then sines; none where nothing rotates), slots i32 [T] (page * pageRows
// + row; negative: not stored), k_cache and v_cache as for KvAppend, q [T, heads, headDim]. A tile
// is one head wide, or a part of a head that holds whole groups with their partners, or none of
// them. If the KV cache has a block format, each group holds whole quantization blocks, or tiles
// are one head wide.
EpilogueStore qkvStore(const QkvEpilogue &p);

// A GEMM with that epilogue. n follows from the heads; blockN is a head's columns or, with groups,
// those of one group and its partners.
struct QkvGemm {
  Gemm gemm;
  QkvEpilogue heads;
};

void qkvGemm(kernel::KernelBuilder &k, const QkvGemm &p);
void visitFields(QkvGemm &p, FieldVisitor &visitor);

// The same of heads in memory, as a kernel of its own, in their order there: where each head of
// queries or keys is normalized before RoPE, or after it (`normsFollow`), or where a GEMM's tiles
// hold no whole heads. Groups are whole heads; without `halves` pairs are neighbours. Arguments:
// queries [T, heads, headDim], keys and values [T, kvHeads, headDim], f32, those that there are;
// q_norm and k_norm f32 [1, headDim] and norm_eps f32 where they are normalized; then those of
// qkvStore. Grid x walks heads, y T.
struct QkvRows {
  QkvEpilogue heads;
  bool normQueries = true, normKeys = true, normsFollow = false;
  bool halves = true;
};

void qkvRows(kernel::KernelBuilder &k, const QkvRows &p);
void visitFields(QkvRows &p, FieldVisitor &visitor);

} // namespace sinter::kernels
