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
  return getAxis() == 0 && getTableBatch().empty() && table.getRank() == 2 &&
         !table.isDynamicDim(1) && getIndex().getType().getRank() == 1 &&
         getResult().getType().getElementType().isF32();
}

SmallVector<int64_t> GatherOp::getIndexAxes() {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < getIndex().getType().getRank(); ++axis)
    if (!llvm::is_contained(getIndexBatch(), axis))
      axes.push_back(axis);
  return axes;
}

// Batch axes are pairs of equal extents beside the axis that is indexed.
static LogicalResult verifyGatherBatch(GatherOp op) {
  Check check(op);
  RankedTensorType table = op.getTable().getType(), index = op.getIndex().getType();
  const ArrayRef<int64_t> ofTable = op.getTableBatch(), ofIndex = op.getIndexBatch();
  SmallVector<int64_t> used(ofTable);
  used.push_back(static_cast<int64_t>(op.getAxis()));
  if (failed(check.axes("table", table, used)) || failed(check.axes("index", index, ofIndex)))
    return failure();
  if (ofTable.size() != ofIndex.size())
    return op.emitOpError() << "has " << ofTable.size() << " batch axes of table and "
                            << ofIndex.size() << " of index, expected as many";
  for (auto [axisTable, axisIndex] : llvm::zip_equal(ofTable, ofIndex))
    if (failed(check.agree("table", table, axisTable, "index", index, axisIndex)))
      return failure();
  return success();
}

LogicalResult GatherOp::verify() {
  Check check(*this);
  RankedTensorType table = getTable().getType(), index = getIndex().getType();
  RankedTensorType result = getResult().getType();
  if (failed(verifyGatherBatch(*this)) ||
      failed(check.element("index", index, IntegerType::get(getContext(), 32))))
    return failure();
  const SmallVector<int64_t> indexAxes = getIndexAxes();
  const int64_t axis = getAxis(), more = static_cast<int64_t>(indexAxes.size()) - 1;
  if (failed(check.rank("result", result, table.getRank() + more)))
    return failure();
  for (int64_t i = 0; i < table.getRank(); ++i)
    if (i != axis &&
        failed(check.agree("table", table, i, "result", result, i < axis ? i : i + more)))
      return failure();
  for (auto [at, indexAxis] : llvm::enumerate(indexAxes))
    if (failed(check.agree("index", index, indexAxis, "result", result,
                           axis + static_cast<int64_t>(at))))
      return failure();
  Type from = table.getElementType(), to = result.getElementType();
  const bool blocks = isa<tile::BlockType>(from);
  const int64_t last = table.getRank() - 1;
  if (blocks && (axis == last || llvm::is_contained(getTableBatch(), last)))
    return emitOpError() << "takes single elements of the blocks of " << table
                         << ", expected axes before the last";
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
  if (failed(check.element("result", to, from.getElementType())) ||
      failed(check.rank("result", to, from.getRank())) ||
      failed(check.perAxis("axes", from, getPermutation())) ||
      failed(check.axes("value", from, getPermutation())))
    return failure();
  if (!isScalarElement(from.getElementType()) && getPermutation().back() != from.getRank() - 1)
    return emitOpError() << "moves the last axis of " << from
                         << ", along which blocks lie, expected it to stay the last";
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
  if (failed(check.axes("the result", result, {axis})))
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
    if (axis == result.getRank() - 1 && !part.isDynamicDim(axis) &&
        failed(verifyWholeBlocks(*this, part, part.getDimSize(axis))))
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
