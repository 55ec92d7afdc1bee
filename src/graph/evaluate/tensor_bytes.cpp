// One row of blocks, or one scalar, after another.
#include "tile/mlir_pch.h"

#include "graph/evaluate/tensor_bytes.h"
#include "graph/graph.h"
#include "numeric/half.h"
#include "numeric/quantize/block_fit.h"
#include "tile/tile.h"

#include <cstring>

using namespace mlir;

namespace sinter::graph {

static size_t scalarBytes(Type element) {
  return element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8;
}

template <class T> static void put(uint8_t *to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T> static T get(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

static void putScalar(Type element, double value, uint8_t *to) {
  if (element.isF32())
    put(to, static_cast<float>(value));
  else if (element.isInteger(32))
    put(to, static_cast<int32_t>(value));
  else if (element.isInteger(1))
    put(to, static_cast<uint8_t>(value));
  else if (isa<Float8E4M3FNType>(element))
    put(to, f32ToE4m3(static_cast<float>(value)));
  else
    put(to, element.isF16() ? f32ToF16(static_cast<float>(value))
                            : f32ToBf16(static_cast<float>(value)));
}

static double getScalar(Type element, const uint8_t *from) {
  if (element.isF32())
    return get<float>(from);
  if (element.isInteger(32))
    return get<int32_t>(from);
  if (element.isInteger(1))
    return get<uint8_t>(from);
  if (isa<Float8E4M3FNType>(element))
    return e4m3ToF32(get<uint8_t>(from));
  return element.isF16() ? f16ToF32(get<uint16_t>(from)) : bf16ToF32(get<uint16_t>(from));
}

static Result<uint64_t> rowBytesOf(const BlockFormat &format, size_t columns) {
  if (const std::optional<uint64_t> bytes = format.rowBytes(columns))
    return *bytes;
  return fail(Code::InvalidArgument, "rows of " + std::to_string(columns) +
                                         " elements are no whole blocks of " +
                                         std::to_string(format.blockLength));
}

static Result<std::vector<uint8_t>> encodeBlocks(const Tensor &tensor, const BlockFormat &format) {
  const auto columns = static_cast<size_t>(tensor.shape.empty() ? 1 : tensor.shape.back());
  SINTER_ASSIGN(const uint64_t rowBytes, rowBytesOf(format, columns));
  const size_t rows = columns ? tensor.values.size() / columns : 0;
  std::vector<uint8_t> bytes(rows * rowBytes);
  const std::vector<float> values(tensor.values.begin(), tensor.values.end());
  for (size_t row = 0; row < rows; ++row) {
    const std::span from = std::span(values).subspan(row * columns, columns);
    const std::span to = std::span(bytes).subspan(row * rowBytes, rowBytes);
    SINTER_TRY(format.rounding != Rounding::None ? quantizeRow(format, from, to)
                                                 : fitRow(format, from, to));
  }
  return bytes;
}

Result<std::vector<uint8_t>> encodeTensor(const Tensor &tensor, Type element) {
  if (const BlockFormat *format = tile::blockFormatOf(element))
    return encodeBlocks(tensor, *format);
  if (!isScalarElement(element))
    return fail(Code::Unsupported, "elements are of a format that no file holds");
  Tensor rounded{element, tensor.shape, tensor.values};
  SINTER_TRY(roundTo(rounded, Precision::F32));
  const size_t each = scalarBytes(element);
  std::vector<uint8_t> bytes(rounded.values.size() * each);
  for (size_t i = 0; i < rounded.values.size(); ++i)
    putScalar(element, rounded.values[i], bytes.data() + i * each);
  return bytes;
}

static Result<void> expectBytes(size_t found, size_t expected) {
  if (found == expected)
    return {};
  return fail(Code::InvalidArgument,
              std::to_string(found) + " bytes, expected " + std::to_string(expected));
}

static Result<Tensor> decodeBlocks(Tensor tensor, const BlockFormat &format,
                                   std::span<const uint8_t> bytes) {
  const auto columns = static_cast<size_t>(tensor.shape.back());
  SINTER_ASSIGN(const uint64_t rowBytes, rowBytesOf(format, columns));
  const size_t rows = columns ? tensor.values.size() / columns : 0;
  SINTER_TRY(expectBytes(bytes.size(), rows * rowBytes));
  std::vector<float> row(columns);
  for (size_t i = 0; i < rows; ++i) {
    dequantizeRow(format, bytes.subspan(i * rowBytes, rowBytes), row);
    std::copy(row.begin(), row.end(), tensor.values.begin() + i * columns);
  }
  return tensor;
}

Result<Tensor> decodeTensor(Type element, Shape shape, std::span<const uint8_t> bytes) {
  const BlockFormat *format = tile::blockFormatOf(element);
  if (!isScalarElement(element) && (!format || shape.empty()))
    return fail(Code::Unsupported, "elements are of a format that no file holds");
  SINTER_ASSIGN(Tensor tensor, makeTensor(element, std::move(shape)));
  if (format)
    return decodeBlocks(std::move(tensor), *format, bytes);
  const size_t each = scalarBytes(element);
  SINTER_TRY(expectBytes(bytes.size(), tensor.values.size() * each));
  for (size_t i = 0; i < tensor.values.size(); ++i)
    tensor.values[i] = getScalar(element, bytes.data() + i * each);
  return tensor;
}

} // namespace sinter::graph
