// What makes a dot_general well formed.
#include "tile/mlir_pch.h"

#include "graph/ir/check.h"

using namespace mlir;

namespace sinter::graph {

// Axes of one operand that its list names: in range, each once.
static LogicalResult verifyAxes(Operation *op, StringRef what, RankedTensorType type,
                                ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> all(batch);
  llvm::append_range(all, contracting);
  if (failed(Check(op).axes(what, type, all)))
    return failure();
  if (isa<tile::BlockType>(type.getElementType()) &&
      contracting != ArrayRef<int64_t>{type.getRank() - 1})
    return op->emitOpError() << what << " is " << type
                             << ", expected the last axis, along which blocks lie, to contract";
  return success();
}

static LogicalResult verifyPairs(DotGeneralOp op, StringRef what, ArrayRef<int64_t> a,
                                 ArrayRef<int64_t> b) {
  if (a.size() != b.size())
    return op.emitOpError() << "has " << a.size() << " " << what << " axes of a and " << b.size()
                            << " of b, expected as many";
  for (auto [axisA, axisB] : llvm::zip_equal(a, b))
    if (failed(Check(op).agree("a", op.getA().getType(), axisA, "b", op.getB().getType(), axisB)))
      return failure();
  return success();
}

// The result's axes: batch, the other axes of a, the other axes of b.
static LogicalResult verifyDotResult(DotGeneralOp op) {
  Check check(op);
  RankedTensorType a = op.getA().getType(), b = op.getB().getType();
  RankedTensorType result = op.getResult().getType();
  const SmallVector<int64_t> aContracting = op.getAContracting(),
                             bContracting = op.getBContracting();
  int64_t next = op.getABatch().size();
  const int64_t rank = a.getRank() + b.getRank() - next - 2 * aContracting.size();
  if (failed(check.rank("result", result, rank)) || failed(check.f32("result", result)))
    return failure();
  for (auto [at, axis] : llvm::enumerate(op.getABatch()))
    if (failed(check.agree("a", a, axis, "result", result, at)))
      return failure();
  auto others = [&](StringRef what, RankedTensorType type, ArrayRef<int64_t> batch,
                    ArrayRef<int64_t> contracting) -> LogicalResult {
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contracting, axis) &&
          failed(check.agree(what, type, axis, "result", result, next++)))
        return failure();
    return success();
  };
  if (failed(others("a", a, op.getABatch(), aContracting)))
    return failure();
  return others("b", b, op.getBBatch(), bContracting);
}

LogicalResult DotGeneralOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (getAContract().has_value() != getBContract().has_value())
    return emitOpError() << "has contracting axes of one operand, expected those of both or none";
  if (failed(verifyAxes(*this, "a", a, getABatch(), getAContracting())) ||
      failed(verifyAxes(*this, "b", b, getBBatch(), getBContracting())) ||
      failed(verifyPairs(*this, "batch", getABatch(), getBBatch())) ||
      failed(verifyPairs(*this, "contracting", getAContracting(), getBContracting())) ||
      failed(verifyDotResult(*this)))
    return failure();
  Type aElement = a.getElementType(), bElement = b.getElementType();
  if (isa<tile::BlockType>(aElement) && !isa<tile::BlockType>(bElement))
    return emitOpError() << "multiplies " << aElement << " with " << bElement
                         << ", expected a block format on both sides or a float on the left";
  auto isOperand = [](Type type) {
    return type.isF32() || type.isF16() || type.isBF16() || isa<tile::BlockType>(type);
  };
  if (!isOperand(aElement) || !isOperand(bElement))
    return emitOpError() << "multiplies " << aElement << " with " << bElement
                         << ", expected f32, f16, bf16 or a block format";
  return success();
}

static SmallVector<int64_t> axesOr(std::optional<ArrayRef<int64_t>> axes, RankedTensorType type) {
  return axes ? SmallVector<int64_t>(*axes) : SmallVector<int64_t>{type.getRank() - 1};
}

SmallVector<int64_t> DotGeneralOp::getAContracting() {
  return axesOr(getAContract(), getA().getType());
}

SmallVector<int64_t> DotGeneralOp::getBContracting() {
  return axesOr(getBContract(), getB().getType());
}

bool DotGeneralOp::isLinear() {
  const int64_t last = getA().getType().getRank() - 1;
  return getABatch().empty() && getB().getType().getRank() == 2 &&
         !tile::blockFormatOf(getA().getType().getElementType()) && // rows are no weight
         ArrayRef<int64_t>(getAContracting()) == ArrayRef<int64_t>{last} &&
         ArrayRef<int64_t>(getBContracting()) == ArrayRef<int64_t>{1};
}

} // namespace sinter::graph
