// Kernels on block-scaled formats in the interpreter: tables, rounding of rows, integer products.
#include "kernels/run_support.h"
#include "numeric/formats/block_format.h"
#include "numeric/formats/dot_packing.h"
#include "tile/mlir_pch.h"

#include <cstring>

namespace sinter::kernels {
namespace {

// Rows quantised by the format's rule, and the values that they then have.
struct Coded {
  Coded(const char *name, const std::vector<float> &values) : dequantized(values.size()) {
    const BlockFormat *format = findBlockFormat(std::string_view(name));
    EXPECT_NE(format, nullptr);
    bytes.resize(*format->rowBytes(values.size()));
    EXPECT_TRUE(quantizeRow(*format, values, bytes).has_value());
    dequantizeRow(*format, bytes, dequantized);
  }
  std::vector<uint8_t> bytes;
  std::vector<float> dequantized;
};

const std::pair<const char *, const ActivationFormat &> kActivations[] = {{"q8a", kQ8a},
                                                                          {"q8a_16", kQ8a16}};

// The values of rows in a format whose scales are of one block.
std::vector<float> activations(const ActivationFormat &format, const std::vector<float> &values) {
  std::vector<float> result;
  std::vector<uint8_t> block(format.bytes());
  for (size_t start = 0; start < values.size(); start += kActivationLength) {
    quantizeActivation(format, std::span(values).subspan(start, kActivationLength), block);
    for (uint32_t i = 0; i < kActivationLength; ++i)
      result.push_back(activationScale(format, block.data()) *
                       activationCode(format, block.data(), i));
  }
  return result;
}

const std::pair<const char *, const char *> kFormats[] = {
    {"q4_0", "Q4_0"}, {"q4_1", "Q4_1"}, {"q5_0", "Q5_0"}, {"q5_1", "Q5_1"}, {"q8_0", "Q8_0"}};

TEST(EmbedBlocks, RowsOfACodedTableAreDecoded) {
  const int64_t vocabulary = 5, columns = 96;
  for (auto [name, upper] : kFormats) {
    SCOPED_TRACE(name);
    Coded table(upper, randomFloats(vocabulary * columns, 1));
    std::vector<int32_t> ids = {4, 2, 0};
    std::vector<float> out(3 * columns, 99);
    runKernel(
        "embed", {{"table", name}, {"block_columns", "64"}},
        {viewOf(ids, {3}), viewOf(table.bytes, {vocabulary, columns}), viewOf(out, {3, columns})});
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(out[t * columns + j], table.dequantized[ids[t] * columns + j]) << t << ", " << j;
  }
}

TEST(QuantizeRows, RowsBecomeTheBlocksOfTheFormatsOwnRule) {
  const int64_t rows = 3, columns = 160;
  auto values = randomFloats(rows * columns, 7);
  for (auto [name, upper] : kFormats) {
    SCOPED_TRACE(name);
    Coded expected(upper, values);
    std::vector<uint8_t> out(expected.bytes.size(), 0xee);
    runKernel("quantize_rows", {{"out", name}, {"block_rows", "2"}, {"block_columns", "64"}},
              {viewOf(values, {rows, columns}), viewOf(out, {rows, columns})});
    EXPECT_EQ(out, expected.bytes);
  }
}

TEST(QuantizeRows, ActivationsKeepScaleSumAndCodes) {
  const int64_t columns = 64;
  auto values = randomFloats(columns, 8);
  for (auto [name, format] : kActivations) {
    SCOPED_TRACE(name);
    std::vector<uint8_t> out(columns / kActivationLength * format.bytes(), 0xee);
    runKernel("quantize_rows", {{"out", name}, {"block_columns", "32"}},
              {viewOf(values, {1, columns}), viewOf(out, {1, columns})});
    auto expected = activations(format, values);
    for (int64_t block = 0; block < columns / kActivationLength; ++block) {
      const uint8_t *bytes = &out[block * format.bytes()];
      const float scale = activationScale(format, bytes);
      int32_t start, sum = 0;
      std::memcpy(&start, bytes + format.startOffset(kActivationLength, 0), sizeof start);
      for (uint32_t i = 0; i < kActivationLength; ++i) {
        const int8_t code = activationCode(format, bytes, i);
        sum += code;
        ASSERT_EQ(scale * code, expected[block * kActivationLength + i]);
      }
      EXPECT_EQ(start, -128 * sum);
    }
  }
}

struct Extents {
  int64_t m, n, k;
};

// Minima multiply sums of whole groups, so roundings are of magnitudes that may cancel.
void expectMatmul(const std::vector<float> &out, const std::vector<float> &a,
                  const std::vector<float> &b, Extents e) {
  for (int64_t i = 0; i < e.m; ++i)
    for (int64_t j = 0; j < e.n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < e.k; ++l) {
        sum += double(a[i * e.k + l]) * b[j * e.k + l];
        size += std::abs(a[i * e.k + l]) * 2;
      }
      ASSERT_LE(std::abs(out[i * e.n + j] - sum), size * (e.k / 32 + 4) * 1.2e-7) << i << ", " << j;
    }
}

TEST(GemmBlocks, CodedWeightsMultiplyWithActivationsRoundedOnLoad) {
  Settings settings = {{"block_m", "8"}, {"block_n", "16"}, {"block_k", "64"}};
  for (auto [name, upper] : kFormats)
    for (auto [rounded, format] : kActivations)
      for (Extents e : {Extents{1, 1, 32}, Extents{9, 17, 96}, Extents{7, 15, 160}}) {
        SCOPED_TRACE(std::string(name) + " by " + rounded);
        settings["b"] = name;
        settings["activation"] = rounded;
        auto wide = randomFloats(e.m * e.k, 3), a = activations(format, wide);
        Coded b(upper, randomFloats(e.n * e.k, 4));
        std::vector<float> out(e.m * e.n, 99);
        runKernel("gemm", settings,
                  {viewOf(wide, {e.m, e.k}), viewOf(b.bytes, {e.n, e.k}), viewOf(out, {e.m, e.n})});
        expectMatmul(out, a, b.dequantized, e);
      }
}

} // namespace
} // namespace sinter::kernels
