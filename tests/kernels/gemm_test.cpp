// The matrix product kernel in the interpreter, against f64 within a bound that grows with K.
#include "kernels/gemm.h"
#include "kernels/run_support.h"
#include "tile/mlir_pch.h"

namespace sinter::kernels {
namespace {

struct Extents {
  int64_t m, n, k;
};

// Blocks of 8 x 16 x 32: one element, primes, whole blocks, one more and one less.
const Extents kExtents[] = {{1, 1, 1},   {3, 5, 7},   {8, 16, 32},
                            {9, 17, 33}, {7, 15, 31}, {13, 37, 97}};
const Settings kBlocks = {{"block_m", "8"}, {"block_n", "16"}, {"block_k", "32"}};

// Within K roundings of the sum of magnitudes. `a` is [m, k], `b` [n, k] or [k, n].
void expectMatmul(const std::vector<float> &out, const std::vector<float> &a,
                  const std::vector<float> &b, Extents e, bool transposed) {
  for (int64_t i = 0; i < e.m; ++i)
    for (int64_t j = 0; j < e.n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < e.k; ++l) {
        double term = double(a[i * e.k + l]) * b[transposed ? j * e.k + l : l * e.n + j];
        sum += term;
        size += std::abs(term);
      }
      ASSERT_LE(std::abs(out[i * e.n + j] - sum), size * e.k * 6e-8 + 1e-30)
          << "row " << i << " column " << j << " of " << e.m << "x" << e.n << "x" << e.k;
    }
}

TEST(Gemm, TransposedOperandsMultiplyOnOddShapes) {
  for (Extents e : kExtents) {
    auto a = randomFloats(e.m * e.k, 1), b = randomFloats(e.n * e.k, 2);
    std::vector<float> out(e.m * e.n, 99);
    runKernel("gemm", kBlocks,
              {viewOf(a, {e.m, e.k}), viewOf(b, {e.n, e.k}), viewOf(out, {e.m, e.n})});
    expectMatmul(out, a, b, e, true);
  }
}

TEST(Gemm, PlainOperandsMultiplyOnOddShapes) {
  Settings settings = kBlocks;
  settings["transpose_b"] = "false";
  for (Extents e : kExtents) {
    auto a = randomFloats(e.m * e.k, 3), b = randomFloats(e.n * e.k, 4);
    std::vector<float> out(e.m * e.n, 99);
    runKernel("gemm", settings,
              {viewOf(a, {e.m, e.k}), viewOf(b, {e.k, e.n}), viewOf(out, {e.m, e.n})});
    expectMatmul(out, a, b, e, false);
  }
}

TEST(Gemm, HalfWeightsMultiplyWithFullActivations) {
  Settings settings = kBlocks;
  settings["b"] = "f16";
  Extents e{9, 17, 65};
  auto a = randomFloats(e.m * e.k, 5), wide = randomFloats(e.n * e.k, 6);
  std::vector<uint16_t> b;
  for (float &value : wide) {
    b.push_back(f32ToF16(value));
    value = f16ToF32(b.back());
  }
  std::vector<float> out(e.m * e.n, 99);
  runKernel("gemm", settings,
            {viewOf(a, {e.m, e.k}), viewOf(b, {e.n, e.k}), viewOf(out, {e.m, e.n})});
  expectMatmul(out, a, wide, e, true);
}

TEST(Gemm, AnEmptySumIsZero) {
  std::vector<float> a(1), b(1), out(3 * 5, 99);
  runKernel("gemm", kBlocks, {viewOf(a, {3, 0}), viewOf(b, {5, 0}), viewOf(out, {3, 5})});
  EXPECT_EQ(out, std::vector<float>(15, 0.0f));
}

// A bias row of its own and a relu, as graph fusion would fill the slots.
Gemm fusedGemm(View &bias) {
  Gemm p;
  p.blockM = 8, p.blockN = 16, p.blockK = 32;
  p.prologue.apply = [](KernelBuilder &, Tile tile, const TilePlace &) { return tile * 2.0; };
  p.epilogue.declare = [&bias](KernelBuilder &k) {
    bias = k.in("bias", kernel::F32, {1, kernel::dyn});
  };
  p.epilogue.apply = [&bias](KernelBuilder &, Tile acc, const TilePlace &at) {
    return max(acc + load(bias, {0, at.column}, {1, at.columns}), 0.0);
  };
  return p;
}

TEST(Gemm, SlotsRunOnTheOperandAndOnTheAccumulator) {
  View bias;
  Gemm p = fusedGemm(bias);
  auto module = tile::KernelModule::build(
      [&](kernel::Module &m) { m.kernel("fused", [&](KernelBuilder &k) { gemm(k, p); }); });
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  std::vector<float> a = {1, 2, 3, 4}, b = {1, 0, 0, 1}, add = {-5, 1}, out(4);
  auto ran = tile::interpretKernel(
      *module.module().getOps<tile::KernelOp>().begin(),
      {viewOf(a, {2, 2}), viewOf(b, {2, 2}), viewOf(out, {2, 2}), viewOf(add, {1, 2})});
  ASSERT_TRUE(ran.has_value()) << ran.error().message;
  EXPECT_EQ(out, (std::vector<float>{0, 5, 1, 9}));
}

} // namespace
} // namespace sinter::kernels
