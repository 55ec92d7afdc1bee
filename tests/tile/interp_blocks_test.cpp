// Block formats in the interpreter: whole blocks in and out, packed rows, and the exact dot.
#include "tile/interp_support.h"

#include "numeric/formats/activation_format.h"
#include "numeric/formats/block_format.h"
#include "numeric/formats/dot_packing.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace sinter::tile {
namespace {

using Bytes = std::vector<uint8_t>;

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(engine);
  return values;
}

Bytes quantized(const BlockFormat &format, const std::vector<float> &values) {
  Bytes blocks(*format.rowBytes(values.size()));
  auto result = quantizeRow(format, values, blocks);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return blocks;
}

// Random bytes with finite scales: every F16 of a format lies below infinity with its top bits cut.
Bytes randomBlocks(const BlockFormat &format, size_t blocks, unsigned seed) {
  std::mt19937 engine(seed);
  Bytes bytes(blocks * format.blockBytes);
  for (size_t block = 0; block < blocks; ++block) {
    uint8_t *at = bytes.data() + block * format.blockBytes;
    do
      for (size_t i = 0; i < format.blockBytes; ++i)
        at[i] = static_cast<uint8_t>(engine());
    while (!std::isfinite(format.scale.value(at, 0)) ||
           std::fabs(format.scale.value(at, 0)) > 1e3f ||
           (format.min.present() && !std::isfinite(format.min.value(at, 0))));
  }
  return bytes;
}

std::string onePass(const std::string &x, const std::string &y, const std::string &body) {
  return "tile.kernel @k(%x: " + x + ", %y: " + y +
         ") {\n%c0 = arith.constant 0 : index\n"
         "%c1 = arith.constant 1 : index\n%c32 = arith.constant 32 : index\n"
         "tile.grid %c1, %c1, %c1\n" +
         body + "\n}";
}

class Dequantize : public testing::TestWithParam<const char *> {};

TEST_P(Dequantize, OfATileIsTheFormatTablesDequantize) {
  const BlockFormat &format = *findBlockFormat(std::string_view(GetParam()));
  Bytes blocks = randomBlocks(format, 6, 7);
  int64_t k = format.blockLength * 3;
  std::vector<float> expected(2 * k), found(2 * k);
  dequantizeRow(format, blocks, expected);
  std::string extents = "2x" + std::to_string(k) + "x",
              type = "!tile.block<\"" + std::string(GetParam()) + "\">";
  auto result = runKernel(
      onePass("!tile.view<" + extents + type + ", in>", "!tile.view<" + extents + "f32, out>",
              "%b = tile.load %x[%c0, %c0] : !tile.view<" + extents + type + ", in> -> tensor<" +
                  extents + type + ">\n%t = tile.dequantize %b : tensor<" + extents + type +
                  "> -> tensor<" + extents + "f32>\ntile.store %t, %y[%c0, %c0] : tensor<" +
                  extents + "f32>, !tile.view<" + extents + "f32, out>"),
      {HostView::contiguous(blocks.data(), {2, k}), viewOf(found, {2, k})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
}
INSTANTIATE_TEST_SUITE_P(Formats, Dequantize,
                         testing::Values("Q4_0", "Q4_1", "Q5_1", "Q8_0", "Q4_K", "Q6_K", "IQ2_XS",
                                         "TQ1_0", "MXFP4", "NVFP4"));

TEST(Quantize, OfATileIsTheFormatTablesRounding) {
  std::vector<float> values = randomFloats(128, 3);
  Bytes expected = quantized(*findBlockFormat("Q4_1"), values), found(expected.size());
  std::string blocks = "2x64x!tile.block<\"q4_1\">";
  auto result = runKernel(
      onePass("!tile.view<2x64xf32, in>", "!tile.view<" + blocks + ", out>",
              "%t = tile.load %x[%c0, %c0] : !tile.view<2x64xf32, in> -> tensor<2x64xf32>\n"
              "%b = tile.quantize %t : tensor<2x64xf32> -> tensor<" +
                  blocks +
                  ">\n"
                  "tile.store %b, %y[%c0, %c0] : tensor<" +
                  blocks + ">, !tile.view<" + blocks + ", out>"),
      {viewOf(values, {2, 64}), HostView::contiguous(found.data(), {2, 64})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(found, expected);
}

// Quantises `values` to the activation format and back.
std::vector<float> throughActivations(std::vector<float> values) {
  std::vector<float> found(values.size());
  std::string n = std::to_string(values.size()), block = "!tile.block<\"q8a\">";
  auto result = runKernel(
      onePass("!tile.view<" + n + "xf32, in>", "!tile.view<" + n + "xf32, out>",
              "%t = tile.load %x[%c0] : !tile.view<" + n + "xf32, in> -> tensor<" + n +
                  "xf32>\n"
                  "%b = tile.quantize %t : tensor<" +
                  n + "xf32> -> tensor<" + n + "x" + block +
                  ">\n"
                  "%d = tile.dequantize %b : tensor<" +
                  n + "x" + block + "> -> tensor<" + n +
                  "xf32>\n"
                  "tile.store %d, %y[%c0] : tensor<" +
                  n + "xf32>, !tile.view<" + n + "xf32, out>"),
      {viewOf(values, {int64_t(values.size())}), viewOf(found, {int64_t(values.size())})});
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return found;
}

TEST(Activations, AreWithinHalfAStepOfTheirValues) {
  std::vector<float> values = randomFloats(64, 5), found = throughActivations(values);
  for (size_t block = 0; block < 2; ++block) {
    float most = 0;
    for (size_t i = 0; i < 32; ++i)
      most = std::max(most, std::fabs(values[block * 32 + i]));
    for (size_t i = block * 32; i < block * 32 + 32; ++i)
      EXPECT_LE(std::fabs(found[i] - values[i]), most / 126 * 0.5001f);
  }
}

TEST(Activations, RoundTiesToEven) {
  // The largest magnitude 127 makes the scale 1, which leaves whole numbers without an error.
  std::vector<float> values(32);
  std::iota(values.begin(), values.end(), 0.0f);
  values[0] = 127;
  values[1] = 0.5f;
  values[2] = 1.5f;
  values[3] = -2.5f;
  auto found = throughActivations(values);
  found.resize(4);
  EXPECT_EQ(found, (std::vector<float>{127, 0, 2, -2}));
}

TEST(Activations, OfZerosAndOfTheSmallestNumbersAreFinite) {
  EXPECT_EQ(throughActivations(std::vector<float>(32)), std::vector<float>(32));
  for (float value : throughActivations(std::vector<float>(32, 0x1p-149f)))
    EXPECT_TRUE(std::isfinite(value));
}

// ---- dot ----

struct Dot {
  int64_t m = 3, n = 32, k = 256;
  std::vector<float> a;
  Bytes b;
  std::vector<float> c;
};

Result<RunStatistics> runDot(Dot &dot, const std::string &format, const std::string &interleave,
                             const std::string &activation = "q8a") {
  std::string a = std::to_string(dot.m) + "x" + std::to_string(dot.k);
  std::string b =
      std::to_string(dot.n) + "x" + std::to_string(dot.k) + "x!tile.block<\"" + format + "\">";
  std::string c = std::to_string(dot.m) + "x" + std::to_string(dot.n) + "xf32";
  std::string bView = "!tile.view<" + b + ", in" + interleave + ">";
  return runKernel(
      onePass("!tile.view<" + a + "xf32, in>", "!tile.view<" + c + ", out>, %w: " + bView,
              "%t = tile.load %x[%c0, %c0] : !tile.view<" + a + "xf32, in> -> tensor<" + a +
                  "xf32>\n%q = tile.quantize %t : tensor<" + a + "xf32> -> tensor<" + a +
                  "x!tile.block<\"" + activation + "\">>\n%l = tile.load %w[%c0, %c0] : " + bView +
                  " -> tensor<" + b + ">\n%z = arith.constant dense<0.25> : tensor<" + c +
                  ">\n"
                  "%d = tile.dot %q, %l, %z transpose_b : tensor<" +
                  a + "x!tile.block<\"" + activation + "\">>, tensor<" + b + ">, tensor<" + c +
                  "> -> tensor<" + c + ">\ntile.store %d, %y[%c0, %c0] : tensor<" + c +
                  ">, !tile.view<" + c + ", out>"),
      {viewOf(dot.a, {dot.m, dot.k}), viewOf(dot.c, {dot.m, dot.n}),
       HostView::contiguous(dot.b.data(), {dot.n, dot.k})});
}

Dot makeDot(const BlockFormat &format) {
  Dot dot;
  dot.a = randomFloats(dot.m * dot.k, 11);
  dot.b = randomBlocks(format, dot.n * dot.k / format.blockLength, 12);
  dot.c.resize(dot.m * dot.n, NAN);
  return dot;
}

class BlockDot : public testing::TestWithParam<const char *> {};

TEST_P(BlockDot, IsCloseToTheDotOfDequantizedValues) {
  const BlockFormat &format = *findBlockFormat(std::string_view(GetParam()));
  Dot dot = makeDot(format);
  auto result = runDot(dot, GetParam(), "");
  ASSERT_TRUE(result) << result.error().message;
  std::vector<float> a = throughActivations(dot.a), b(dot.n * dot.k);
  dequantizeRow(format, dot.b, b);
  for (int64_t i = 0; i < dot.m; ++i)
    for (int64_t j = 0; j < dot.n; ++j) {
      double sum = 0.25, size = 0.25;
      for (int64_t p = 0; p < dot.k; ++p) {
        // With minima, parts much larger than the value itself cancel.
        double product = double(a[i * dot.k + p]) * b[j * dot.k + p];
        const uint8_t *block = &dot.b[(j * dot.k + p) / format.blockLength * format.blockBytes];
        float min = format.min.present()
                        ? format.min.value(block, uint32_t((j * dot.k + p) % format.blockLength))
                        : 0;
        sum += product;
        size += std::fabs(product) + std::fabs(2.0 * a[i * dot.k + p] * min);
      }
      EXPECT_NEAR(dot.c[i * dot.n + j], sum, size * 1e-6) << i << ' ' << j;
    }
}
INSTANTIATE_TEST_SUITE_P(Formats, BlockDot,
                         testing::Values("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K",
                                         "Q4_K", "Q6_K", "IQ1_S", "IQ2_XS", "IQ4_NL", "TQ1_0",
                                         "MXFP4", "NVFP4"));

struct Quantized {
  float scale = 0;
  std::vector<int32_t> codes;
};

// What the format makes of the values that share a scale.
Quantized quantized(const ActivationFormat &format, const float *values) {
  std::vector<uint8_t> blocks(format.scaleLength / kActivationLength * format.bytes());
  quantizeActivation(format, {values, format.scaleLength}, blocks);
  Quantized result{activationScale(format, blocks.data()), {}};
  for (uint32_t i = 0; i < format.scaleLength; ++i)
    result.codes.push_back(activationCode(format, &blocks[i / kActivationLength * format.bytes()],
                                          i % kActivationLength));
  return result;
}

TEST(BlockDot, OfOneGroupIsBitForBitItsDefinition) {
  const BlockFormat &format = *findBlockFormat("Q4_1");
  Dot dot = makeDot(format);
  auto result = runDot(dot, "q4_1", "");
  ASSERT_TRUE(result) << result.error().message;
  for (int64_t j = 0; j < dot.n; ++j) {
    float acc = 0.25f;
    for (int64_t g = 0; g < dot.k / 32; ++g) {
      const Quantized a = quantized(kQ8a, &dot.a[g * 32]);
      const uint8_t *block = &dot.b[(j * dot.k / 32 + g) * format.blockBytes];
      int32_t products = 0, sum = 0;
      for (uint32_t i = 0; i < 32; ++i) {
        const int32_t code = a.codes[i];
        products += code * static_cast<int32_t>(format.code.raw(block, format.codeOf(i).code));
        sum += code;
      }
      float part = float(products) * format.scale.value(block, 0);
      part = std::fma(-format.min.value(block, 0), float(sum), part);
      acc = std::fma(part, a.scale, acc);
    }
    EXPECT_EQ(dot.c[j], acc) << j;
  }
}

// The groups of 256 elements are summed up before the scale that they share.
TEST(BlockDot, OfASharedScaleIsBitForBitItsDefinition) {
  const BlockFormat &format = *findBlockFormat("Q4_K");
  Dot dot = makeDot(format);
  auto result = runDot(dot, "q4_k", "", "q8a_256");
  ASSERT_TRUE(result) << result.error().message;
  for (int64_t j = 0; j < dot.n; ++j) {
    const uint8_t *block = &dot.b[j * format.blockBytes];
    const Quantized a = quantized(kQ8a256, dot.a.data());
    float part = -0.0f;
    for (uint32_t first = 0; first < 256; first += 32) {
      int32_t products = 0, sum = 0;
      for (uint32_t i = first; i < first + 32; ++i) {
        const int32_t code = a.codes[i];
        products += code * static_cast<int32_t>(format.code.raw(block, format.codeOf(i).code));
        sum += code;
      }
      part = std::fma(float(products), format.scale.value(block, first), part);
      part = std::fma(-format.min.value(block, first), float(sum), part);
    }
    EXPECT_EQ(dot.c[j], std::fma(part, a.scale, 0.25f)) << j;
  }
}

// Packs rows of blocks in groups of kInterleavedRows as numeric/formats/dot_packing.h says.
Bytes packed(const BlockFormat &format, const Bytes &blocks, int64_t rows, int64_t perRow) {
  DotPacking packing = *dotPacking(format);
  const int64_t groupBytes = int64_t(format.blockBytes) * kInterleavedRows;
  Bytes out(rows / kInterleavedRows * perRow * groupBytes);
  for (int64_t group = 0; group < rows / kInterleavedRows; ++group)
    for (int64_t b = 0; b < perRow; ++b)
      for (const PackedField &field : packing.fields)
        for (uint32_t unit = 0; unit < field.units(); ++unit)
          for (int64_t row = 0; row < kInterleavedRows; ++row) {
            size_t block = size_t((group * kInterleavedRows + row) * perRow + b);
            Bytes bytes;
            for (uint32_t i = 0; i < field.unitBytes; ++i)
              bytes.push_back(
                  blocks[block * format.blockBytes + field.offset + unit * field.unitBytes + i] ^
                  field.xorByte);
            if (field.itemBits != 8) {
              uint32_t word;
              std::memcpy(&word, bytes.data(), sizeof word);
              word = turnItems(word, field.itemBits);
              std::memcpy(bytes.data(), &word, sizeof word);
            }
            std::ranges::copy(bytes, out.begin() + (group * perRow + b) * groupBytes +
                                         field.placeOf(unit) * kInterleavedRows +
                                         row * field.unitBytes);
          }
  return out;
}

class PackedDot : public testing::TestWithParam<const char *> {};

TEST_P(PackedDot, OfInterleavedRowsIsBitForBitThatOfTheFilesOrder) {
  const BlockFormat &format = *findBlockFormat(std::string_view(GetParam()));
  Dot plain = makeDot(format), interleaved = plain;
  interleaved.b = packed(format, plain.b, plain.n, plain.k / format.blockLength);
  ASSERT_NE(interleaved.b, plain.b);
  ASSERT_TRUE(runDot(plain, GetParam(), ""));
  auto result = runDot(interleaved, GetParam(), ", interleave = 16");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(std::memcmp(interleaved.c.data(), plain.c.data(), plain.c.size() * sizeof(float)), 0);
}
INSTANTIATE_TEST_SUITE_P(Formats, PackedDot,
                         testing::Values("Q4_0", "Q4_1", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q6_K",
                                         "IQ4_XS", "MXFP4", "NVFP4", "Q2_0"));

TEST(Blocks, OutsideTheirViewAddNothing) {
  // k = 256 is loaded from rows that end at 128.
  Dot dot = makeDot(*findBlockFormat("Q4_1"));
  std::vector<float> x = randomFloats(256, 21), y(2), z(1);
  Bytes w = randomBlocks(*findBlockFormat("Q4_1"), 4, 22);
  auto kernel = [](const std::string &k) {
    std::string a = "1x" + k + "xf32", q = "1x" + k + "x!tile.block<\"q8a\">",
                b = "1x" + k + "x!tile.block<\"q4_1\">";
    return onePass("!tile.view<1x?xf32, in>",
                   "!tile.view<1x1xf32, out>, %w: "
                   "!tile.view<1x?x!tile.block<\"q4_1\">, in>",
                   "%t = tile.load %x[%c0, %c0] : !tile.view<1x?xf32, in> -> tensor<" + a +
                       ">\n"
                       "%q = tile.quantize %t : tensor<" +
                       a + "> -> tensor<" + q +
                       ">\n"
                       "%l = tile.load %w[%c0, %c0] : !tile.view<1x?x!tile.block<\"q4_1\">, in> -> "
                       "tensor<" +
                       b +
                       ">\n%z = arith.constant dense<0.0> : tensor<1x1xf32>\n"
                       "%d = tile.dot %q, %l, %z transpose_b : tensor<" +
                       q + ">, tensor<" + b +
                       ">, tensor<1x1xf32> -> tensor<1x1xf32>\n"
                       "tile.store %d, %y[%c0, %c0] : tensor<1x1xf32>, !tile.view<1x1xf32, out>");
  };
  std::vector<float> wide(1), narrow(1);
  auto view = HostView::contiguous(w.data(), {1, 128});
  ASSERT_TRUE(runKernel(kernel("256"), {viewOf(x, {1, 256}), viewOf(wide, {1, 1}), view}));
  ASSERT_TRUE(runKernel(kernel("128"), {viewOf(x, {1, 256}), viewOf(narrow, {1, 1}), view}));
  EXPECT_NE(wide[0], 0.0f);
  EXPECT_EQ(wide[0], narrow[0]);
}

// ---- messages ----

std::string blockFailure(const std::string &body, HostView view) {
  std::vector<float> y(64);
  return failureOf(
      onePass("!tile.view<?x?x!tile.block<\"q4_1\">, in>", "!tile.view<64xf32, out>", body),
      {std::move(view), viewOf(y, {64})});
}

TEST(Blocks, ViewsHoldWholeOnes) {
  Bytes bytes(200);
  EXPECT_EQ(blockFailure("", HostView::contiguous(bytes.data(), {2, 48})),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 has stride 48 on axis 0, expected whole "
            "blocks of 32 elements");
  EXPECT_EQ(blockFailure("", {reinterpret_cast<std::byte *>(bytes.data()), {2, 48}, {64, 1}}),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 has extent 48 on axis 1, expected whole "
            "blocks of 32 elements");
}

TEST(Blocks, TilesHoldWholeOnes) {
  Bytes bytes(200);
  EXPECT_EQ(blockFailure("%t = tile.load %x[%c0, %c0] : !tile.view<?x?x!tile.block<\"q4_1\">, in> "
                         "-> tensor<1x48x!tile.block<\"q4_1\">>",
                         HostView::contiguous(bytes.data(), {2, 64})),
            "kernel.mlir:6:6: 'tile.load' gives a tile whose last axis is not whole blocks of 32 "
            "elements (in program 0, 0, 0)");
}

TEST(Blocks, BeginAtTheirStart) {
  Bytes bytes(200);
  EXPECT_EQ(blockFailure("%t = tile.load %x[%c0, %c1] : !tile.view<?x?x!tile.block<\"q4_1\">, in> "
                         "-> tensor<1x32x!tile.block<\"q4_1\">>",
                         HostView::contiguous(bytes.data(), {2, 64})),
            "kernel.mlir:6:6: 'tile.load' begins within a block of its view (in program 0, 0, 0)");
}

TEST(Blocks, OfAnUnknownFormatAreNotHeld) {
  Bytes bytes(8);
  EXPECT_EQ(failureOf("tile.kernel @k(%x: !tile.view<4x!tile.block<\"q9\">, in>) {\n"
                      "%c1 = arith.constant 1 : index\ntile.grid %c1, %c1, %c1\n}",
                      {HostView::contiguous(bytes.data(), {4})}),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 is !tile.view<4x!tile.block<\"q9\">, in>, "
            "expected a type that the interpreter holds");
}

TEST(Blocks, WithoutAPackingAreNotReadInterleaved) {
  Bytes bytes(16 * 66);
  std::string message = failureOf(
      "tile.kernel @k(%x: !tile.view<16x256x!tile.block<\"iq2_xxs\">, in, interleave = 16>) "
      "{\n%c1 = arith.constant 1 : index\ntile.grid %c1, %c1, %c1\n}",
      {HostView::contiguous(bytes.data(), {16, 256})});
  EXPECT_NE(message.find("argument 0 is interleaved: format IQ2_XXS has "), std::string::npos)
      << message;
}

TEST(Blocks, AreNotMovedElementByElement) {
  Bytes bytes(200);
  EXPECT_EQ(blockFailure("%t = tile.load %x[%c0, %c0] : !tile.view<?x?x!tile.block<\"q4_1\">, in> "
                         "-> tensor<2x32x!tile.block<\"q4_1\">>\n"
                         "%r = tile.slice %t [0, 0] : tensor<2x32x!tile.block<\"q4_1\">> -> "
                         "tensor<1x32x!tile.block<\"q4_1\">>",
                         HostView::contiguous(bytes.data(), {2, 64})),
            "kernel.mlir:7:6: 'tile.slice' moves elements of a block format, expected a scalar "
            "type (in program 0, 0, 0)");
}

TEST(Blocks, OfNanAreNotQuantised) {
  std::vector<float> x(32, NAN), y(32);
  EXPECT_EQ(failureOf(onePass("!tile.view<32xf32, in>", "!tile.view<32xf32, out>",
                              "%t = tile.load %x[%c0] : !tile.view<32xf32, in> -> tensor<32xf32>\n"
                              "%q = tile.quantize %t : tensor<32xf32> -> "
                              "tensor<32x!tile.block<\"q8_0\">>"),
                      {viewOf(x, {32}), viewOf(y, {32})}),
            "kernel.mlir:7:6: 'tile.quantize' value 0 of the row is nan, expected a finite one (in "
            "program 0, 0, 0)");
}

} // namespace
} // namespace sinter::tile
