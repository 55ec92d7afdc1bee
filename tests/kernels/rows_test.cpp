// Row normalisation and elementwise kernels in the interpreter, against references in f64 on odd
// shapes.
#include "kernels/run_support.h"
#include "tile/mlir_pch.h"

#include <limits>

namespace sinter::kernels {
namespace {

constexpr double kEps = 1.2e-7; // of f32

struct Shape {
  int64_t rows, columns;
};

// Blocks of 4 x 32: one element, primes, one block, one more and one less than blocks.
const Shape kShapes[] = {{1, 1}, {3, 7}, {4, 32}, {5, 33}, {7, 97}, {2, 63}, {9, 31}};
const Settings kBlocks = {{"block_rows", "4"}, {"block_columns", "32"}};

struct RowData {
  explicit RowData(Shape shape)
      : x(randomFloats(shape.rows * shape.columns, 1)), weight(randomFloats(shape.columns, 2)),
        bias(randomFloats(shape.columns, 3)), out(x.size(), 99.0f) {}
  std::vector<float> x, weight, bias, out;
};

TEST(RmsNorm, RowsAreDividedByTheirRootMeanSquare) {
  for (Shape s : kShapes) {
    RowData d(s);
    runKernel("rms_norm", kBlocks,
              {viewOf(d.x, {s.rows, s.columns}), viewOf(d.weight, {1, s.columns}),
               viewOf(d.out, {s.rows, s.columns}), tile::f32Argument(1e-5f)});
    std::vector<double> expected(d.x.size());
    for (int64_t i = 0; i < s.rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < s.columns; ++j)
        sum += double(d.x[i * s.columns + j]) * d.x[i * s.columns + j];
      for (int64_t j = 0; j < s.columns; ++j)
        expected[i * s.columns + j] =
            d.x[i * s.columns + j] / std::sqrt(sum / s.columns + 1e-5f) * d.weight[j];
    }
    expectClose(d.out, expected, (s.columns + 8) * kEps, 0);
  }
}

TEST(RmsNorm, HalfPrecisionRowsAreReadAndRoundedOnce) {
  Shape s{3, 45};
  std::vector<float> wide = randomFloats(s.rows * s.columns, 4), weight(s.columns, 1.0f);
  std::vector<uint16_t> x, out(wide.size());
  for (float value : wide)
    x.push_back(f32ToF16(value));
  Settings settings = kBlocks;
  settings["in"] = settings["out"] = "f16";
  runKernel("rms_norm", settings,
            {viewOf(x, {s.rows, s.columns}), viewOf(weight, {1, s.columns}),
             viewOf(out, {s.rows, s.columns}), tile::f32Argument(0.0f)});
  std::vector<float> found;
  std::vector<double> expected;
  for (int64_t i = 0; i < s.rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < s.columns; ++j)
      sum += std::pow(double(f16ToF32(x[i * s.columns + j])), 2);
    for (int64_t j = 0; j < s.columns; ++j) {
      found.push_back(f16ToF32(out[i * s.columns + j]));
      expected.push_back(f16ToF32(x[i * s.columns + j]) / std::sqrt(sum / s.columns));
    }
  }
  expectClose(found, expected, 5e-4, 1e-7);
}

// Rows of three parts of 12 columns, each normalised by itself with one weight.
TEST(Norms, PartsOfARowAreTakenApart) {
  constexpr int64_t kRows = 5, kParts = 3, kColumns = 12;
  const Settings settings = {
      {"block_rows", "2"}, {"block_columns", "4"}, {"columns", "12"}, {"parts", "3"}};
  for (const bool layer : {false, true}) {
    RowData d({kRows, kParts * kColumns});
    std::vector<float> weight(d.weight.begin(), d.weight.begin() + kColumns),
        bias(d.bias.begin(), d.bias.begin() + kColumns);
    std::vector<tile::Argument> arguments = {viewOf(d.x, {kRows, kParts * kColumns}),
                                             viewOf(weight, {1, kColumns})};
    if (layer)
      arguments.push_back(viewOf(bias, {1, kColumns}));
    arguments.push_back(viewOf(d.out, {kRows, kParts * kColumns}));
    arguments.push_back(tile::f32Argument(1e-5f));
    runKernel(layer ? "layer_norm" : "rms_norm", settings, arguments);
    std::vector<double> expected;
    for (int64_t part = 0; part < kRows * kParts; ++part) {
      const float *x = &d.x[part * kColumns];
      double mean = 0, squares = 0;
      for (int64_t j = 0; j < kColumns && layer; ++j)
        mean += x[j] / double(kColumns);
      for (int64_t j = 0; j < kColumns; ++j)
        squares += (x[j] - mean) * (x[j] - mean) / kColumns;
      for (int64_t j = 0; j < kColumns; ++j)
        expected.push_back((x[j] - mean) / std::sqrt(squares + 1e-5f) * weight[j] +
                           (layer ? bias[j] : 0));
    }
    expectClose(d.out, expected, 1e-5, 1e-5);
  }
}

TEST(Norms, AWeightAndABiasMayBeAbsent) {
  const Shape s{3, 7};
  RowData d(s);
  Settings settings = kBlocks;
  settings["weighted"] = settings["biased"] = "false";
  runKernel("layer_norm", settings,
            {viewOf(d.x, {s.rows, s.columns}), viewOf(d.out, {s.rows, s.columns}),
             tile::f32Argument(0.0f)});
  for (int64_t i = 0; i < s.rows; ++i) {
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < s.columns; ++j) {
      sum += d.out[i * s.columns + j];
      squares += double(d.out[i * s.columns + j]) * d.out[i * s.columns + j];
    }
    EXPECT_NEAR(sum, 0, 1e-5);
    EXPECT_NEAR(squares, static_cast<double>(s.columns), 1e-4);
  }
}

TEST(LayerNorm, RowsGetMeanZeroAndVarianceOne) {
  for (Shape s : kShapes) {
    RowData d(s);
    runKernel("layer_norm", kBlocks,
              {viewOf(d.x, {s.rows, s.columns}), viewOf(d.weight, {1, s.columns}),
               viewOf(d.bias, {1, s.columns}), viewOf(d.out, {s.rows, s.columns}),
               tile::f32Argument(1e-3f)});
    std::vector<double> expected(d.x.size());
    for (int64_t i = 0; i < s.rows; ++i) {
      const float *row = &d.x[i * s.columns];
      double mean = 0, variance = 0;
      for (int64_t j = 0; j < s.columns; ++j)
        mean += row[j] / double(s.columns);
      for (int64_t j = 0; j < s.columns; ++j)
        variance += (row[j] - mean) * (row[j] - mean) / s.columns;
      for (int64_t j = 0; j < s.columns; ++j)
        expected[i * s.columns + j] =
            (row[j] - mean) / std::sqrt(variance + 1e-3f) * d.weight[j] + d.bias[j];
    }
    expectClose(d.out, expected, (s.columns + 8) * kEps, (s.columns + 8) * kEps * 32);
  }
}

TEST(Softmax, RowsAreExponentialsOfSumOne) {
  for (Shape s : kShapes) {
    RowData d(s);
    for (float &value : d.x)
      value *= 50;
    runKernel("softmax", kBlocks,
              {viewOf(d.x, {s.rows, s.columns}), viewOf(d.out, {s.rows, s.columns})});
    std::vector<double> expected(d.x.size());
    for (int64_t i = 0; i < s.rows; ++i) {
      const float *row = &d.x[i * s.columns];
      double high = *std::max_element(row, row + s.columns), sum = 0;
      for (int64_t j = 0; j < s.columns; ++j)
        sum += std::exp(row[j] - high);
      for (int64_t j = 0; j < s.columns; ++j)
        expected[i * s.columns + j] = std::exp(row[j] - high) / sum;
    }
    expectClose(d.out, expected, (s.columns + 160) * kEps, 1e-30);
  }
}

TEST(Softmax, AMaskedFirstBlockWeighsNothing) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x(40, -inf), out(40, 7.0f);
  x[35] = 1.0f, x[36] = 1.0f;
  runKernel("softmax", kBlocks, {viewOf(x, {1, 40}), viewOf(out, {1, 40})});
  std::vector<double> expected(40, 0.0);
  expected[35] = expected[36] = 0.5;
  expectClose(out, expected, 0, 0);
}

TEST(Add, ElementsAreAdded) {
  for (Shape s : kShapes) {
    RowData d(s);
    std::vector<float> b = randomFloats(d.x.size(), 9);
    runKernel("add", kBlocks,
              {viewOf(d.x, {s.rows, s.columns}), viewOf(b, {s.rows, s.columns}),
               viewOf(d.out, {s.rows, s.columns})});
    for (size_t i = 0; i < b.size(); ++i)
      ASSERT_EQ(d.out[i], d.x[i] + b[i]);
  }
}

TEST(SiluMul, TheGateIsASigmoidTimesItself) {
  for (Shape s : kShapes) {
    RowData d(s);
    std::vector<float> up = randomFloats(d.x.size(), 9);
    for (float &value : d.x)
      value *= 20;
    runKernel("silu_mul", kBlocks,
              {viewOf(d.x, {s.rows, s.columns}), viewOf(up, {s.rows, s.columns}),
               viewOf(d.out, {s.rows, s.columns})});
    std::vector<double> expected;
    for (size_t i = 0; i < up.size(); ++i)
      expected.push_back(d.x[i] / (1 + std::exp(-double(d.x[i]))) * up[i]);
    expectClose(d.out, expected, 8 * kEps, 1e-30);
  }
}

} // namespace
} // namespace sinter::kernels
