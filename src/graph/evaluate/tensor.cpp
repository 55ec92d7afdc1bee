// Rounding to element types, and walks over strided elements.
#include "tile/mlir_pch.h"

#include "graph/evaluate/tensor.h"
#include "numeric/half.h"
#include "numeric/quantize/block_fit.h"
#include "tile/interpreter/value.h"
#include "tile/tile.h"

using namespace mlir;

namespace sinter::graph {

Result<Tensor> makeTensor(Type element, Shape shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(count, extent, count) || count > kMostElements)
      return fail(Code::Exhausted, "a tensor has more than " + std::to_string(kMostElements) +
                                       " elements, which the evaluator does not hold");
  return Tensor{element, std::move(shape), std::vector<double>(count)};
}

// One row of blocks: quantized by the format's rule, or by search where it has none.
static Result<void> quantizeBlocks(const BlockFormat &format, ArrayRef<float> row,
                                   std::vector<float> &back) {
  std::vector<uint8_t> bytes(*format.rowBytes(row.size()));
  const std::span<const float> values(row.data(), row.size());
  if (format.rounding != Rounding::None)
    SINTER_TRY(quantizeRow(format, values, bytes));
  else
    SINTER_TRY(fitRow(format, values, bytes));
  dequantizeRow(format, bytes, back);
  return {};
}

static Result<void> quantizeActivations(const ActivationFormat &format, ArrayRef<float> row,
                                        std::vector<float> &back) {
  std::vector<uint8_t> blocks(format.scaleLength / kActivationLength * format.bytes());
  for (size_t start = 0; start < row.size(); start += format.scaleLength) {
    quantizeActivation(format, {row.data() + start, format.scaleLength}, blocks);
    for (uint32_t i = 0; i < format.scaleLength; ++i) {
      const uint8_t *block = blocks.data() + i / kActivationLength * format.bytes();
      back[start + i] = activationScale(format, block) *
                        static_cast<float>(activationCode(format, block, i % kActivationLength));
    }
  }
  return {};
}

static Result<void> roundToBlocks(Tensor &tensor) {
  const BlockFormat *format = tile::blockFormatOf(tensor.element);
  const ActivationFormat *activation = tile::activationFormatOf(tensor.element);
  const int64_t length = format ? format->blockLength : activation ? activation->scaleLength : 0;
  const int64_t columns = tensor.shape.back();
  if (length == 0 || columns % length != 0)
    return fail(Code::InvalidArgument, "rows of " + std::to_string(columns) +
                                           " elements are no whole blocks of " +
                                           std::to_string(length));
  std::vector<float> row(columns), back(columns);
  for (int64_t start = 0; start < tensor.count(); start += columns) {
    std::copy_n(tensor.values.begin() + start, columns, row.begin());
    SINTER_TRY(format ? quantizeBlocks(*format, row, back)
                      : quantizeActivations(*activation, row, back));
    std::copy(back.begin(), back.end(), tensor.values.begin() + start);
  }
  return {};
}

static double wrapped(double value, unsigned bits) {
  const auto whole = static_cast<uint64_t>(static_cast<int64_t>(value));
  return bits == 1 ? static_cast<double>(whole & 1)
                   : static_cast<double>(tile::signExtend(whole & 0xffffffff, bits));
}

Result<void> roundTo(Tensor &tensor, Precision precision) {
  Type element = tensor.element;
  if (isa<tile::BlockType>(element))
    return roundToBlocks(tensor);
  auto each = [&](auto round) {
    for (double &value : tensor.values)
      value = round(value);
  };
  if (element.isF32() && precision == Precision::F32)
    each([](double v) { return static_cast<float>(v); });
  else if (element.isF16())
    each([](double v) { return f16ToF32(f32ToF16(tile::roundToOdd(v))); });
  else if (element.isBF16())
    each([](double v) { return bf16ToF32(f32ToBf16(tile::roundToOdd(v))); });
  else if (isa<Float8E4M3FNType>(element))
    each([](double v) { return e4m3ToF32(f32ToE4m3(tile::roundToOdd(v))); });
  else if (element.isInteger())
    each([bits = element.getIntOrFloatBitWidth()](double v) { return wrapped(v, bits); });
  return {};
}

Shape stridesOf(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

void forEachIndex(ArrayRef<int64_t> shape, ArrayRef<Shape> strides,
                  function_ref<void(const int64_t *offsets)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  Shape index(shape.size(), 0), offsets(strides.size(), 0);
  for (;;) {
    visit(offsets.data());
    size_t axis = shape.size();
    while (axis-- > 0) {
      for (size_t i = 0; i < strides.size(); ++i)
        offsets[i] += strides[i][axis];
      if (++index[axis] < shape[axis])
        break;
      for (size_t i = 0; i < strides.size(); ++i)
        offsets[i] -= strides[i][axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis == SIZE_MAX)
      return;
  }
}

std::vector<int64_t> offsetsOf(ArrayRef<int64_t> shape, const Shape &strides) {
  std::vector<int64_t> offsets;
  forEachIndex(shape, {strides}, [&](const int64_t *at) { offsets.push_back(*at); });
  return offsets;
}

} // namespace sinter::graph
