// What makes edges, norms, maps, reductions, folds and quantization well formed.
#include "tile/mlir_pch.h"

#include "graph/ir/check.h"
#include "graph/ir/scalar_ops.h"

using namespace mlir;

namespace sinter::graph {

LogicalResult WeightOp::verify() {
  if (getTensors().empty())
    return emitOpError() << "names no tensor, expected at least one";
  if (!getResult().getType().hasStaticShape())
    return emitOpError() << "is " << getResult().getType() << ", expected static extents";
  return success();
}

LogicalResult IotaOp::verify() {
  RankedTensorType result = getResult().getType();
  if (failed(Check(*this).axes("the result", result, {static_cast<int64_t>(getAxis())})))
    return failure();
  return Check(*this).element("result", result, IntegerType::get(getContext(), 32));
}

SmallVector<int64_t> NormOp::getNormAxes() {
  if (!getAxes())
    return {getValue().getType().getRank() - 1};
  SmallVector<int64_t> axes(*getAxes());
  llvm::sort(axes);
  return axes;
}

bool NormOp::isRmsOfRows() {
  return getKind() == NormKind::Rms && getWeight() && !getBias() &&
         getNormAxes() == SmallVector<int64_t>{getValue().getType().getRank() - 1};
}

// Whether `sums` are those of equal groups along the last axis of `value`.
static LogicalResult verifySums(Operation *op, RankedTensorType value, RankedTensorType sums) {
  Check check(op);
  const int64_t last = value.getRank() - 1;
  if (failed(check.f32("value", value)) || failed(check.f32("sums", sums)) ||
      failed(check.rank("sums", sums, value.getRank())))
    return failure();
  for (int64_t axis = 0; axis < last; ++axis)
    if (failed(check.agree("value", value, axis, "sums", sums, axis)))
      return failure();
  if (last >= 0 && !value.isDynamicDim(last) && !sums.isDynamicDim(last) &&
      sums.getDimSize(last) > 0 && value.getDimSize(last) % sums.getDimSize(last) == 0)
    return success();
  return op->emitOpError() << "has sums " << sums << " of " << value
                           << ", expected one for each of equal groups along the last axis";
}

LogicalResult SquareSumsOp::verify() {
  return verifySums(*this, getValue().getType(), getResult().getType());
}

LogicalResult NormOp::verify() {
  Check check(*this);
  RankedTensorType value = getValue().getType();
  const SmallVector<int64_t> axes = getNormAxes();
  if (failed(check.f32("value", value)) || failed(check.axes("value", value, axes)) ||
      failed(check.same("result", getResult().getType(), value)))
    return failure();
  if (axes.empty())
    return emitOpError() << "is over no axis, expected at least one";
  if (!getEps().isFinite() || getEps().isNegative())
    return emitOpError() << "has an eps that is not a number of 0 or more";
  auto verifyParameter = [&](StringRef what, Value parameter) -> LogicalResult {
    if (!parameter)
      return success();
    auto type = cast<RankedTensorType>(parameter.getType());
    if (failed(check.rank(what, type, axes.size())) || failed(check.f32(what, type)))
      return failure();
    for (auto [at, axis] : llvm::enumerate(axes))
      if (failed(check.agree("value", value, axis, what, type, at)))
        return failure();
    return success();
  };
  if (failed(verifyParameter("weight", getWeight())) || failed(verifyParameter("bias", getBias())))
    return failure();
  if (!getSquares())
    return success();
  if (!isRmsOfRows())
    return emitOpError() << "has sums of squares, expected them of a root mean square norm along "
                            "the last axis with a weight and no bias alone";
  return verifySums(*this, value, cast<RankedTensorType>(getSquares().getType()));
}

// ---- map and reduce ----

bool MapOp::isSameShape() {
  RankedTensorType result = getResult().getType();
  return llvm::all_of(getValues(), [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getShape() == result.getShape() && type.getEncoding() == result.getEncoding();
  });
}

// Elementwise work that yields so many elements.
static LogicalResult verifyScalarOps(Operation *op, mlir::Block &block, size_t yields) {
  for (Operation &inner : block.without_terminator())
    if (failed(verifyScalarOp(inner)))
      return failure();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return op->emitOpError() << "ends in '" << block.getTerminator()->getName()
                             << "', expected graph.yield";
  if (yield.getValues().size() == yields)
    return success();
  return yield.emitOpError() << "yields " << yield.getValues().size() << " elements, expected "
                             << yields;
}

// Axes align from the last; an absent one or 1 repeats.
static LogicalResult verifyBroadcast(MapOp op, RankedTensorType operand, RankedTensorType result) {
  const int64_t absent = result.getRank() - operand.getRank();
  if (absent < 0)
    return op.emitOpError() << "operand is " << operand << " and result is " << result
                            << ", expected at most the result's dimensions";
  for (int64_t axis = 0; axis < operand.getRank(); ++axis)
    if (operand.getDimSize(axis) != 1 && !sameExtent(operand, axis, result, axis + absent))
      return op.emitOpError() << "operand is " << operand << " and result is " << result
                              << ", expected axis " << axis << " of the operand to be 1 or axis "
                              << axis + absent << " of the result";
  return success();
}

LogicalResult MapOp::verify() {
  Check check(*this);
  RankedTensorType result = getResult().getType();
  mlir::Block &block = getBody().front();
  if (block.getNumArguments() != getValues().size())
    return emitOpError() << "has " << getValues().size() << " operands and "
                         << block.getNumArguments() << " region arguments, expected as many";
  for (auto [value, argument] : llvm::zip_equal(getValues(), block.getArguments())) {
    auto operand = cast<RankedTensorType>(value.getType());
    if (failed(verifyBroadcast(*this, operand, result)) ||
        failed(check.scalars("operand", operand)) ||
        failed(check.same("region argument", argument.getType(), operand.getElementType())))
      return failure();
  }
  if (failed(verifyScalarOps(*this, block, 1)) || failed(check.scalars("result", result)))
    return failure();
  return check.same("yielded element", block.getTerminator()->getOperand(0).getType(),
                    result.getElementType());
}

// A result of the value's shape without the axes, or with extent 1 for each of them.
static LogicalResult verifyReduced(Operation *op, RankedTensorType value, RankedTensorType result,
                                   ArrayRef<int64_t> axes) {
  Check check(op);
  const int64_t without = value.getRank() - axes.size();
  const bool kept = result.getRank() == value.getRank();
  if (!kept && failed(check.rank("result", result, without)))
    return failure();
  int64_t next = 0;
  for (int64_t axis = 0; axis < value.getRank(); ++axis) {
    if (!llvm::is_contained(axes, axis)) {
      if (failed(check.agree("value", value, axis, "result", result, kept ? axis : next++)))
        return failure();
    } else if (kept && result.getDimSize(axis) != 1) {
      return op->emitOpError() << "result is " << result << ", expected axis " << axis
                               << " to be 1 or all reduced axes to be left out";
    }
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  Check check(*this);
  RankedTensorType value = getValue().getType(), result = getResult().getType();
  const ArrayRef<int64_t> axes = getAxes();
  Type element = value.getElementType();
  const bool logical = getKind() == ReduceKind::All || getKind() == ReduceKind::Any;
  if (logical ? !element.isInteger(1) : !element.isF32() && !element.isInteger(32))
    return emitOpError() << "combines " << element << " by " << stringifyReduceKind(getKind())
                         << ", expected " << (logical ? "i1" : "f32 or i32");
  if (failed(check.axes("value", value, axes)) || failed(check.element("result", result, element)))
    return failure();
  return verifyReduced(*this, value, result, axes);
}

// ---- fold ----

SmallVector<int64_t> FoldOp::getFoldAxes() {
  SmallVector<int64_t> axes(getAxes());
  llvm::sort(axes);
  return axes;
}

// The results and what they begin as.
static LogicalResult verifyAccumulators(FoldOp op) {
  if (op.getFrom().size() != op.getNumResults())
    return op.emitOpError() << "begins from " << op.getFrom().size() << " numbers, expected one "
                            << "for each of " << op.getNumResults() << " results";
  auto value = cast<RankedTensorType>(op.getValues().front().getType());
  for (auto [result, from] : llvm::zip_equal(op.getResults(), op.getFrom())) {
    auto type = cast<RankedTensorType>(result.getType());
    Type element = type.getElementType();
    if (!element.isF32() && !element.isInteger(32) && !element.isInteger(1))
      return op.emitOpError() << "folds into " << type << ", expected elements f32, i32 or i1";
    auto number = dyn_cast<TypedAttr>(from);
    if (!number || !isa<FloatAttr, IntegerAttr>(from) || number.getType() != element)
      return op.emitOpError() << "begins from " << from << ", expected a number of " << element;
    if (failed(verifyReduced(op, value, type, op.getAxes())))
      return failure();
  }
  return success();
}

LogicalResult FoldOp::verify() {
  Check check(*this);
  if (getValues().empty() || getResults().empty())
    return emitOpError() << "has " << getValues().size() << " operands and " << getNumResults()
                         << " results, expected at least one of each";
  auto value = cast<RankedTensorType>(getValues().front().getType());
  if (failed(check.axes("value", value, getAxes())))
    return failure();
  for (Value other : getValues()) {
    auto type = cast<RankedTensorType>(other.getType());
    if (failed(check.scalars("value", type)) ||
        failed(check.sameShape("value", type, "the first value", value)))
      return failure();
  }
  if (failed(verifyAccumulators(*this)))
    return failure();
  mlir::Block &block = getBody().front();
  SmallVector<Type> expected;
  for (Type type : llvm::concat<const Type>(getResultTypes(), getOperandTypes()))
    expected.push_back(cast<RankedTensorType>(type).getElementType());
  if (block.getNumArguments() != expected.size())
    return emitOpError() << "has " << block.getNumArguments() << " region arguments, expected "
                         << expected.size() << ": one for each result and each operand";
  for (auto [argument, type] : llvm::zip_equal(block.getArguments(), expected))
    if (failed(check.same("region argument", argument.getType(), type)))
      return failure();
  if (failed(verifyScalarOps(*this, block, getNumResults())))
    return failure();
  for (auto [yielded, type] : llvm::zip(block.getTerminator()->getOperands(), expected))
    if (failed(check.same("yielded element", yielded.getType(), type)))
      return failure();
  return success();
}

LogicalResult QuantizeOp::verify() {
  Check check(*this);
  RankedTensorType value = getValue().getType(), result = getResult().getType();
  if (failed(check.f32("value", value)) ||
      failed(check.sameShape("value", value, "result", result)))
    return failure();
  Type element = result.getElementType();
  if (!isa<tile::BlockType>(element) && !element.isF16() && !element.isBF16())
    return emitOpError() << "makes " << result << ", expected a block format, f16 or bf16";
  return success();
}

LogicalResult DequantizeOp::verify() {
  Check check(*this);
  RankedTensorType value = getValue().getType(), result = getResult().getType();
  if (failed(check.f32("result", result)) ||
      failed(check.sameShape("value", value, "result", result)))
    return failure();
  if (!isa<tile::BlockType>(value.getElementType()))
    return emitOpError() << "value is " << value << ", expected elements of a block format";
  return success();
}

} // namespace sinter::graph
