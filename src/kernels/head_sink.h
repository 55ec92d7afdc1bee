// Where the joined product of queries, keys and values goes: rotated, to attention's operands.
#pragma once

#include "kernels/gemm.h"

namespace sinter::kernels {

// One program holds the columns of one head: `heads` of queries, then `kvHeads` of keys, then as
// many of values. In heads of queries and keys the second half of the columns rotates with the
// first: column i with column i + headDim / 2.
struct Heads {
  int64_t heads = 8, kvHeads = 8, headDim = 64, pageRows = 64;
  kernel::Element out = kernel::F32, pool = kernel::F16;
};

// Arguments: positions i32 [T, 1], frequencies f32 [headDim / 2] in radians per position, slots i32
// [T] (page * pageRows + row; negative: not stored), k_pool and v_pool as for KvWrite, q [T, heads,
// headDim]. Tiles must be headDim wide.
Sink headSink(const Heads &p);

// A matrix product into that sink, one head a program: n and blockN of the product follow from the
// heads.
struct HeadGemm {
  Gemm gemm;
  Heads heads;
};

void headGemm(kernel::KernelBuilder &k, const HeadGemm &p);
void visitFields(HeadGemm &p, FieldVisitor &visitor);

} // namespace sinter::kernels
