// Whole kernels in the interpreter against plain C++: rms_norm, softmax and GEMM with ragged edges.
#include "tile/interp_support.h"

#include <cmath>
#include <random>

namespace sinter::tile {
namespace {

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = uniform(engine);
  return values;
}

constexpr const char *kRmsNorm = R"(
tile.kernel @rms_norm(%x: !tile.view<?x?xf32, in>, %w: !tile.view<?xf32, in>,
                      %y: !tile.view<?x?xf32, out>, %eps: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %rows = tile.dim %x, 0 : !tile.view<?x?xf32, in>
  tile.grid %rows, %c1, %c1
  %row = tile.program_id 0
  %n = tile.dim %x, 1 : !tile.view<?x?xf32, in>
  %zero = arith.constant dense<0.0> : tensor<1x32xf32>
  %squares = scf.for %i = %c0 to %n step %c32 iter_args(%sum = %zero) -> tensor<1x32xf32> {
    %t = tile.load %x[%row, %i] : !tile.view<?x?xf32, in> -> tensor<1x32xf32>
    %next = math.fma %t, %t, %sum : tensor<1x32xf32>
    scf.yield %next : tensor<1x32xf32>
  }
  %total = tile.reduce sum %squares axis 1 : tensor<1x32xf32> -> tensor<1x1xf32>
  %ni = arith.index_cast %n : index to i32
  %nf = arith.sitofp %ni : i32 to f32
  %nt = tile.splat %nf : f32 -> tensor<1x1xf32>
  %mean = arith.divf %total, %nt : tensor<1x1xf32>
  %et = tile.splat %eps : f32 -> tensor<1x1xf32>
  %biased = arith.addf %mean, %et : tensor<1x1xf32>
  %scale = math.rsqrt %biased : tensor<1x1xf32>
  %wide = tile.broadcast %scale : tensor<1x1xf32> -> tensor<1x32xf32>
  scf.for %i = %c0 to %n step %c32 {
    %t = tile.load %x[%row, %i] : !tile.view<?x?xf32, in> -> tensor<1x32xf32>
    %g = tile.load %w[%i] : !tile.view<?xf32, in> -> tensor<32xf32>
    %g2 = tile.reshape %g : tensor<32xf32> -> tensor<1x32xf32>
    %a = arith.mulf %t, %wide : tensor<1x32xf32>
    %b = arith.mulf %a, %g2 : tensor<1x32xf32>
    tile.store %b, %y[%row, %i] : tensor<1x32xf32>, !tile.view<?x?xf32, out>
  }
}
)";

class RmsNorm : public testing::TestWithParam<int64_t> {};

TEST_P(RmsNorm, AgreesWithPlainCodeInDouble) {
  int64_t rows = 3, n = GetParam();
  auto x = randomFloats(rows * n, 1), w = randomFloats(n, 2);
  std::vector<float> y(rows * n, NAN);
  auto result = runKernel(
      kRmsNorm, {viewOf(x, {rows, n}), viewOf(w, {n}), viewOf(y, {rows, n}), f32Argument(1e-5f)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->programs, 3u);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += double(x[row * n + i]) * x[row * n + i];
    double scale = 1 / std::sqrt(sum / n + 1e-5);
    for (int64_t i = 0; i < n; ++i)
      EXPECT_NEAR(y[row * n + i], x[row * n + i] * scale * w[i], 1e-6) << row << ' ' << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Lengths, RmsNorm, testing::Values(1, 31, 32, 33, 97));

constexpr const char *kSoftmax = R"(
tile.kernel @softmax(%x: !tile.view<?x?xf32, in>, %y: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = tile.dim %x, 0 : !tile.view<?x?xf32, in>
  %blocks = arith.ceildivsi %rows, %c4 : index
  tile.grid %c1, %blocks, %c1
  %block = tile.program_id 1
  %row = arith.muli %block, %c4 : index
  %t = tile.load %x[%row, %c0] pad(0xFF800000 : f32) : !tile.view<?x?xf32, in> -> tensor<4x64xf32>
  %max = tile.reduce max %t axis 1 : tensor<4x64xf32> -> tensor<4x1xf32>
  %maxb = tile.broadcast %max : tensor<4x1xf32> -> tensor<4x64xf32>
  %shifted = arith.subf %t, %maxb : tensor<4x64xf32>
  %e = math.exp %shifted : tensor<4x64xf32>
  %sum = tile.reduce sum %e axis 1 : tensor<4x64xf32> -> tensor<4x1xf32>
  %sumb = tile.broadcast %sum : tensor<4x1xf32> -> tensor<4x64xf32>
  %p = arith.divf %e, %sumb : tensor<4x64xf32>
  tile.store %p, %y[%row, %c0] : tensor<4x64xf32>, !tile.view<?x?xf32, out>
}
)";

class Softmax : public testing::TestWithParam<int64_t> {};

TEST_P(Softmax, OfRaggedRowsIsBitForBitTheSameStepsInPlainCode) {
  int64_t rows = 6, n = GetParam();
  auto x = randomFloats(rows * n, 3);
  std::vector<float> y(rows * n, NAN);
  auto result = runKernel(kSoftmax, {viewOf(x, {rows, n}), viewOf(y, {rows, n})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->programs, 2u);
  for (int64_t row = 0; row < rows; ++row) {
    const float *in = &x[row * n];
    float max = *std::max_element(in, in + n), sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += static_cast<float>(std::exp(double(in[i] - max)));
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(y[row * n + i], static_cast<float>(std::exp(double(in[i] - max))) / sum);
  }
}
INSTANTIATE_TEST_SUITE_P(Lengths, Softmax, testing::Values(1, 2, 37, 63, 64));

constexpr const char *kGemm = R"(
tile.kernel @gemm(%a: !tile.view<?x?xf32, in>, %b: !tile.view<?x?xf32, in>,
                  %c: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %m = tile.dim %c, 0 : !tile.view<?x?xf32, out>
  %n = tile.dim %c, 1 : !tile.view<?x?xf32, out>
  %k = tile.dim %a, 1 : !tile.view<?x?xf32, in>
  %gm = arith.ceildivsi %m, %c32 : index
  %gn = arith.ceildivsi %n, %c32 : index
  tile.grid %gn, %gm, %c1
  %px = tile.program_id 0
  %py = tile.program_id 1
  %row = arith.muli %py, %c32 : index
  %col = arith.muli %px, %c32 : index
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %acc = scf.for %i = %c0 to %k step %c32 iter_args(%sum = %zero) -> tensor<32x32xf32> {
    %ta = tile.load %a[%row, %i] : !tile.view<?x?xf32, in> -> tensor<32x32xf32>
    %tb = tile.load %b[%i, %col] : !tile.view<?x?xf32, in> -> tensor<32x32xf32>
    %next = tile.dot %ta, %tb, %sum : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  tile.store %acc, %c[%row, %col] : tensor<32x32xf32>, !tile.view<?x?xf32, out>
}
)";

struct GemmSize {
  int64_t m, n, k;
};
class Gemm : public testing::TestWithParam<GemmSize> {};

TEST_P(Gemm, IsBitForBitAscendingFma) {
  auto [m, n, k] = GetParam();
  auto a = randomFloats(m * k, 4), b = randomFloats(k * n, 5);
  std::vector<float> c(m * n, NAN);
  auto result = runKernel(kGemm, {viewOf(a, {m, k}), viewOf(b, {k, n}), viewOf(c, {m, n})});
  ASSERT_TRUE(result) << result.error().message;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum = std::fma(a[i * k + p], b[p * n + j], sum);
      ASSERT_EQ(c[i * n + j], sum) << i << ' ' << j;
    }
}
INSTANTIATE_TEST_SUITE_P(Sizes, Gemm,
                         testing::Values(GemmSize{1, 1, 1}, GemmSize{31, 33, 32},
                                         GemmSize{37, 29, 67}, GemmSize{128, 128, 128}));

TEST(Interpreter, RunsAKernelOverAnEmptyViewAsNoProgram) {
  std::vector<float> x, y;
  auto result = runKernel(kSoftmax, {viewOf(x, {0, 5}), viewOf(y, {0, 5})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->programs, 0u);
}

TEST(Interpreter, CountsBytesInsideViewsOnly) {
  std::vector<float> x(15, 1.0f), y(15);
  auto result = runKernel(kSoftmax, {viewOf(x, {3, 5}), viewOf(y, {3, 5})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->bytesLoaded, 60u);
  EXPECT_EQ(result->bytesStored, 60u);
}

} // namespace
} // namespace sinter::tile
