// Kernels as someone outside of this tree writes them: only the headers of include/sinter.
#include <sinter/kernel.h>

using namespace sinter::kernel;

// x / (1 + exp(-beta x)), elementwise on any number of rows.
static void swish(KernelBuilder &k) {
  constexpr int64_t kRows = 4, kColumns = 48;
  View x = k.in("x", F32, {dyn, dyn}), out = k.out("out", F32, {dyn, dyn});
  Scalar beta = k.scalar("beta", F32);
  k.grid(ceilDiv(x.dim(1), kColumns), ceilDiv(x.dim(0), kRows));
  Scalar row = k.programId(1) * kRows, column = k.programId(0) * kColumns;
  Tile value = load(x, {row, column}, {kRows, kColumns});
  store(out, {row, column}, value / (1.0 + exp(-(value * beta))));
}

// Sums of products of the rows of two matrices, one number a row.
static void rowDots(KernelBuilder &k) {
  constexpr int64_t kRows = 4, kColumns = 32;
  View a = k.in("a", F16, {dyn, dyn}), b = k.in("b", F16, {dyn, dyn});
  View out = k.out("out", F32, {dyn, 1});
  k.grid(ceilDiv(a.dim(0), kRows));
  Scalar row = k.programId(0) * kRows;
  Tile sum =
      k.forLoop(0, a.dim(1), kColumns, k.zeros(F32, {kRows, 1}), [&](Scalar column, Tile total) {
        Tile left = convert(load(a, {row, column}, {kRows, kColumns}), F32);
        Tile right = convert(load(b, {row, column}, {kRows, kColumns}), F32);
        return total + reduceSum(left * right, 1);
      });
  store(out, {row, 0}, sum);
}

SINTER_KERNELS(module) {
  module.kernel("swish", swish);
  module.kernel("row_dots", rowDots);
}
