// What makes gathers and operations on shapes well formed.
#include "tile/mlir_pch.h"

#include "graph/ir/check.h"
#include "graph/ir/extent.h"

using namespace mlir;

namespace sinter::graph {

// Blocks lie along the last axis, which must stay whole for what moves their elements.
static LogicalResult verifyWholeBlocks(Operation *op, RankedTensorType type, int64_t elements) {
  const BlockFormat *format = tile::blockFormatOf(type.getElementType());
  const int64_t length = format ? format->blockLength : kActivationLength;
  if (isScalarElement(type.getElementType()) || elements % length == 0)
    return success();
  return op->emitOpError() << "cuts a block of " << type << " at element " << elements
                           << ", expected a multiple of " << length;
}

bool GatherOp::isEmbedding() {
  RankedTensorType table = getTable().getType();
  return getAxis() == 0 && table.getRank() == 2 && !table.isDynamicDim(1) &&
         getIndex().getType().getRank() == 1 && getResult().getType().getElementType().isF32();
}

LogicalResult GatherOp::verify() {
  Check check(*this);
  RankedTensorType table = getTable().getType(), index = getIndex().getType();
  RankedTensorType result = getResult().getType();
  const int64_t axis = getAxis(), more = index.getRank() - 1;
  if (failed(check.axes("table", table, {axis})) ||
      failed(check.element("index", index, IntegerType::get(getContext(), 32))) ||
      failed(check.rank("result", result, table.getRank() + more)))
    return failure();
  for (int64_t i = 0; i < table.getRank(); ++i)
    if (i != axis &&
        failed(check.agree("table", table, i, "result", result, i < axis ? i : i + more)))
      return failure();
  for (int64_t i = 0; i <= more; ++i)
    if (failed(check.agree("index", index, i, "result", result, axis + i)))
      return failure();
  Type from = table.getElementType(), to = result.getElementType();
  const bool blocks = isa<tile::BlockType>(from);
  if (blocks && axis == table.getRank() - 1)
    return emitOpError() << "takes single elements of the blocks of " << table
                         << ", expected an axis before the last";
  const bool converts = (blocks || isa<FloatType>(from)) && to.isF32();
  if (converts || (!blocks && from == to))
    return success();
  return emitOpError() << "makes " << to << " from " << from << ", expected "
                       << (blocks ? "f32" : "the same elements or f32 from floats");
}

bool ReshapeOp::keepsRows() {
  RankedTensorType from = getValue().getType(), to = getResult().getType();
  auto staticInside = [](RankedTensorType type) {
    return llvm::none_of(type.getShape().drop_front(), ShapedType::isDynamic);
  };
  return from.getRank() && to.getRank() && staticInside(from) && staticInside(to) &&
         sameExtent(from, 0, to, 0);
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getValue().getType(), to = getResult().getType();
  const auto before = elementCount(from), after = elementCount(to);
  if (!before || !after || *before != *after || from.getElementType() != to.getElementType())
    return emitOpError() << "turns " << from << " into " << to << ", expected the same elements";
  if (isa<tile::BlockType>(from.getElementType()))
    return Check(*this).agree("value", from, from.getRank() - 1, "result", to, to.getRank() - 1);
  return success();
}

LogicalResult TransposeOp::verify() {
  Check check(*this);
  RankedTensorType from = getValue().getType(), to = getResult().getType();
  if (failed(check.scalars("value", from)) ||
      failed(check.element("result", to, from.getElementType())) ||
      failed(check.rank("result", to, from.getRank())) ||
      failed(check.perAxis("axes", from, getPermutation())) ||
      failed(check.axes("value", from, getPermutation())))
    return failure();
  for (auto [at, axis] : llvm::enumerate(getPermutation()))
    if (failed(check.agree("value", from, axis, "result", to, at)))
      return failure();
  return success();
}

std::optional<int64_t> SliceOp::columnOffset() {
  RankedTensorType from = getValue().getType(), to = getResult().getType();
  const bool matrix = from.getRank() == 2 && !from.isDynamicDim(1) && sameExtent(from, 0, to, 0);
  const bool steps = getSteps() && llvm::any_of(*getSteps(), [](int64_t s) { return s != 1; });
  return matrix && !steps && getOffsets()[0] == 0 ? std::optional(getOffsets()[1]) : std::nullopt;
}

// The last element that axis `axis` takes, plus 1; none where the formula is too large.
static std::optional<SymbolicExtent> endOf(SliceOp op, int64_t axis) {
  const int64_t step = op.getSteps() ? (*op.getSteps())[axis] : 1;
  const SymbolicExtent taken = SymbolicExtent::of(op.getResult().getType(), axis);
  int64_t first;
  if (llvm::SubOverflow(op.getOffsets()[axis], step - 1, first))
    return std::nullopt;
  return SymbolicExtent(first).plus(taken, step);
}

LogicalResult SliceOp::verify() {
  Check check(*this);
  RankedTensorType from = getValue().getType(), to = getResult().getType();
  if (failed(check.rank("result", to, from.getRank())) ||
      failed(check.element("result", to, from.getElementType())) ||
      failed(check.perAxis("offsets", from, getOffsets())) ||
      (getSteps() && failed(check.perAxis("steps", from, *getSteps()))))
    return failure();
  for (int64_t axis = 0; axis < from.getRank(); ++axis) {
    const int64_t offset = getOffsets()[axis], step = getSteps() ? (*getSteps())[axis] : 1;
    if (offset < 0 || step < 1)
      return emitOpError() << "takes elements of axis " << axis << " from " << offset
                           << " by steps of " << step
                           << ", expected an offset of 0 or more and a step of 1 or more";
    const auto end = endOf(*this, axis);
    const auto left = end ? SymbolicExtent::of(from, axis).plus(*end, -1) : std::nullopt;
    if (!left || (left->constant() && *left->constant() < 0))
      return emitOpError() << "takes elements of axis " << axis << " from " << offset << " of "
                           << from << " into " << to << ", expected a range inside";
  }
  if (isScalarElement(from.getElementType()))
    return success();
  const int64_t last = from.getRank() - 1;
  if (getSteps() && getSteps()->back() != 1)
    return emitOpError() << "takes single elements of the blocks of " << from
                         << ", expected step 1";
  if (failed(verifyWholeBlocks(*this, from, getOffsets()[last])))
    return failure();
  return to.isDynamicDim(last) ? success() : verifyWholeBlocks(*this, from, to.getDimSize(last));
}

LogicalResult ConcatOp::verify() {
  Check check(*this);
  RankedTensorType result = getResult().getType();
  const int64_t axis = getAxis();
  if (getValues().empty())
    return emitOpError() << "has no operand, expected at least one";
  if (failed(check.axes("the result", result, {axis})) || failed(check.scalars("result", result)))
    return failure();
  std::optional<SymbolicExtent> sum = SymbolicExtent(0);
  for (Value value : getValues()) {
    auto part = cast<RankedTensorType>(value.getType());
    if (failed(check.rank("operand", part, result.getRank())) ||
        failed(check.element("operand", part, result.getElementType())))
      return failure();
    for (int64_t i = 0; i < result.getRank(); ++i)
      if (i != axis && failed(check.agree("operand", part, i, "result", result, i)))
        return failure();
    sum = sum ? sum->plus(SymbolicExtent::of(part, axis)) : sum;
  }
  if (!sum || *sum != SymbolicExtent::of(result, axis))
    return emitOpError() << "joins " << (sum ? sum->text() : "too many") << " elements along axis "
                         << axis << " into " << result << ", expected as many";
  return success();
}

LogicalResult PadOp::verify() {
  Check check(*this);
  RankedTensorType from = getValue().getType(), to = getResult().getType();
  if (failed(check.scalars("value", from)) || failed(check.rank("result", to, from.getRank())) ||
      failed(check.element("result", to, from.getElementType())) ||
      failed(check.perAxis("low ends", from, getLow())) ||
      failed(check.perAxis("high ends", from, getHigh())) ||
      failed(check.same("fill", getFill().getType(), from.getElementType())))
    return failure();
  for (int64_t axis = 0; axis < from.getRank(); ++axis) {
    const int64_t low = getLow()[axis], high = getHigh()[axis];
    int64_t more;
    if (low < 0 || high < 0 || llvm::AddOverflow(low, high, more))
      return emitOpError() << "pads axis " << axis << " by " << low << " and " << high
                           << ", expected 0 or more";
    const auto padded = SymbolicExtent::of(from, axis).plus(more);
    if (!padded || *padded != SymbolicExtent::of(to, axis))
      return emitOpError() << "pads axis " << axis << " of " << from << " to "
                           << (padded ? padded->text() : "too many") << ", expected axis " << axis
                           << " of " << to;
  }
  return success();
}

} // namespace sinter::graph
