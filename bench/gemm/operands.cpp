// Quantising by the format table, packing by recipe, and the f64 reference.
#include "operands.h"

#include "engine/choice/packing.h"
#include "engine/elements.h"
#include "numeric/formats/block_format.h"
#include "numeric/formats/dot_packing.h"
#include "numeric/half.h"
#include "runtime/packer.h"
#include "tile/front/front.h"

#include <cmath>
#include <cstring>
#include <random>

namespace sinter::bench {
namespace {

constexpr int kSamples = 256;

// One row of an activation format; `values` becomes what the codes stand for.
void quantizeActivations(const ActivationFormat &format, std::span<float> values, uint8_t *out) {
  const size_t length = format.scaleLength, bytes = length / kActivationLength * format.bytes();
  for (size_t at = 0; at < values.size(); at += length, out += bytes) {
    const std::span<float> together = values.subspan(at, length);
    quantizeActivation(format, together, {out, bytes});
    for (size_t i = 0; i < length; ++i) {
      const uint8_t *block = out + i / kActivationLength * format.bytes();
      together[i] = activationScale(format, block) *
                    activationCode(format, block, static_cast<uint32_t>(i % kActivationLength));
    }
  }
}

Result<void> quantizeActivations(const ActivationFormat &format, Matrix &matrix) {
  if (matrix.columns % format.scaleLength)
    return fail(Code::InvalidArgument, "rows of " + std::to_string(matrix.columns) +
                                           " elements, expected whole blocks of activations");
  const size_t rowBytes = matrix.columns / kActivationLength * format.bytes();
  matrix.bytes.resize(rowBytes * matrix.rows);
  for (int64_t row = 0; row < matrix.rows; ++row)
    quantizeActivations(format,
                        std::span(matrix.values).subspan(row * matrix.columns, matrix.columns),
                        matrix.bytes.data() + row * rowBytes);
  return {};
}

std::string upper(std::string text) {
  for (char &c : text)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Blocks of any bits, with outer factors of a usual size: formats without a rule of rounding.
void fillBlocks(const BlockFormat &format, Matrix &matrix) {
  std::mt19937 random(7);
  for (uint8_t &byte : matrix.bytes)
    byte = static_cast<uint8_t>(random());
  for (size_t at = 0; at < matrix.bytes.size(); at += format.blockBytes)
    for (const GroupFactor *factor : {&format.scale, &format.min})
      for (uint32_t e = 0; factor->present() && e < format.blockLength; e += factor->level1Length)
        for (const BitPlane &plane : factor->level1.used()) {
          const uint16_t half = f32ToF16(1.0f / 64);
          uint8_t *to = &matrix.bytes[at + plane.map.byte(e / factor->level1Length)];
          if (factor->level1.number == Number::F16)
            std::memcpy(to, &half, sizeof half);
          else
            *to = 0x78;
        }
}

Result<void> roundByTable(Matrix &matrix) {
  const BlockFormat *format = findBlockFormat(upper(matrix.format));
  if (!format)
    return fail(Code::Unsupported, "format '" + matrix.format + "' is unknown");
  const auto rowBytes = format->rowBytes(matrix.columns);
  if (!rowBytes)
    return fail(Code::InvalidArgument, "rows of " + std::to_string(matrix.columns) +
                                           " elements, expected whole blocks of " + matrix.format);
  matrix.bytes.resize(*rowBytes * matrix.rows);
  if (format->rounding == Rounding::None)
    fillBlocks(*format, matrix);
  else
    SINTER_TRY(quantizeRow(*format, matrix.values, matrix.bytes));
  dequantizeRow(*format, matrix.bytes, matrix.values);
  return {};
}

// Tensors that are all in memory already.
class NoSource : public runtime::WeightSource {
public:
  Result<std::span<const uint8_t>> tensor(std::string_view name) override {
    return fail(Code::NotFound, "no tensor '" + std::string(name) + "'");
  }
};

mlir::Type elementType(mlir::MLIRContext &context, const std::string &format) {
  mlir::Builder b(&context);
  if (format == "f32")
    return b.getF32Type();
  if (format == "f16")
    return b.getF16Type();
  if (format == "bf16")
    return b.getBF16Type();
  return tile::BlockType::get(&context, b.getStringAttr(format));
}

} // namespace

Result<Matrix> randomMatrix(int64_t rows, int64_t columns, const std::string &format,
                            uint64_t seed) {
  Matrix matrix{format, rows, columns, std::vector<float>(rows * columns), {}};
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::normal_distribution<float> normal;
  for (float &value : matrix.values)
    value = normal(random);
  const ActivationFormat *activation = findActivationFormat(upper(format));
  SINTER_TRY(activation ? quantizeActivations(*activation, matrix) : roundByTable(matrix));
  return matrix;
}

Matrix transposed(const Matrix &matrix) {
  Matrix result{matrix.format, matrix.columns, matrix.rows, matrix.values, {}};
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column)
      result.values[column * matrix.rows + row] = matrix.values[row * matrix.columns + column];
  result.bytes.resize(result.values.size() * sizeof(float));
  std::memcpy(result.bytes.data(), result.values.data(), result.bytes.size());
  return result;
}

Result<std::vector<uint8_t>> interleaved(const Matrix &matrix, int64_t rows, hal::Device &device) {
  mlir::MLIRContext context;
  tile::loadKernelDialects(context);
  SINTER_ASSIGN(
      const plan::PackRecipe recipe,
      engine::interleavedRecipe(elementType(context, matrix.format), matrix.columns, rows));
  const std::span<const uint8_t> tensors[] = {matrix.bytes};
  SINTER_ASSIGN(const uint64_t bytes, runtime::packedBytes(recipe, tensors));
  std::vector<uint8_t> packed(bytes);
  NoSource source;
  SINTER_TRY(runtime::pack(recipe, tensors, packed, device, source));
  return packed;
}

Result<void> checkGemm(const Matrix &a, const Matrix &b, int64_t n, const float *out,
                       const std::string &who) {
  std::mt19937_64 random(7);
  for (int sample = 0; sample < kSamples; ++sample) {
    const int64_t row = static_cast<int64_t>(random() % a.rows);
    const int64_t column = static_cast<int64_t>(random() % n);
    const float *left = a.values.data() + row * a.columns;
    const float *right = b.values.data() + column % b.rows * b.columns;
    double sum = 0, size = 0;
    for (int64_t k = 0; k < a.columns; ++k) {
      const double product = static_cast<double>(left[k]) * right[k];
      sum += product;
      size += std::fabs(product);
    }
    const double bound = size * static_cast<double>(a.columns) * 0x1p-24;
    const double found = out[row * n + column];
    if (!(std::fabs(found - sum) <= bound))
      return fail(Code::Corrupt, who + ": entry [" + std::to_string(row) + ", " +
                                     std::to_string(column) + "] is " + std::to_string(found) +
                                     ", expected " + std::to_string(sum) + " within " +
                                     std::to_string(bound));
  }
  return {};
}

} // namespace sinter::bench
