// The GEMM of rows in groups, each group by a matrix of its own: experts.
#pragma once

#include "kernels/gemm.h"

namespace sinter::kernels {

// out[r] = epilogue(a[r] . b[expert of r] + bias[expert of r]). Arguments: a [R, K], b [E * N, K],
// the experts' matrices one below the other, groups i32 [E, 3] (matrix, first row of a, rows;
// groups without rows come last), with `biased` bias f32 [E, N], then out [R, N] or those of the
// epilogue store, which can be cut. Grid x walks N, y walks groups, of which no more than R have
// rows. A program takes its group's rows block by block, so that b is read once for all of them;
// slots see each block from row 0. transposeB holds, with an epilogue store n is static, and there
// is no prologue.
struct GroupedGemm {
  Gemm gemm;
  bool biased = false;
};

void groupedGemm(kernel::KernelBuilder &k, const GroupedGemm &p);
void visitFields(GroupedGemm &p, FieldVisitor &visitor);

} // namespace sinter::kernels
