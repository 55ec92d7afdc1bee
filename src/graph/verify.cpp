// What makes a graph well formed: shapes, symbols and element types of each operation.
#include "graph/graph.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::graph {

namespace {

/// Checks of one operation; each returns failure after a diagnostic on it.
class Check {
public:
  explicit Check(Operation *op) : op_(op) {}

  LogicalResult rank(StringRef what, RankedTensorType type, int64_t expected) const {
    if (type.getRank() == expected)
      return success();
    return op_->emitOpError() << what << " is " << type << ", expected " << expected
                              << " dimensions";
  }
  LogicalResult element(StringRef what, RankedTensorType type, Type expected) const {
    if (type.getElementType() == expected)
      return success();
    return op_->emitOpError() << what << " is " << type << ", expected elements " << expected;
  }
  LogicalResult f32(StringRef what, RankedTensorType type) const {
    return element(what, type, Float32Type::get(type.getContext()));
  }
  // One axis of two tensors that must agree.
  LogicalResult agree(StringRef what, RankedTensorType a, int64_t axisA, StringRef other,
                      RankedTensorType b, int64_t axisB) const {
    if (sameExtent(a, axisA, b, axisB))
      return success();
    return op_->emitOpError() << what << " is " << a << " and " << other << " is " << b
                              << ", expected axis " << axisA << " of the first to equal axis "
                              << axisB << " of the second";
  }
  LogicalResult sameShape(StringRef what, RankedTensorType a, StringRef other,
                          RankedTensorType b) const {
    if (failed(rank(what, a, b.getRank())))
      return failure();
    for (int64_t axis = 0; axis < a.getRank(); ++axis)
      if (failed(agree(what, a, axis, other, b, axis)))
        return failure();
    return success();
  }
  LogicalResult same(StringRef what, Type found, Type expected) const {
    if (found == expected)
      return success();
    return op_->emitOpError() << what << " is " << found << ", expected " << expected;
  }
  // i32 indices of the given rank.
  LogicalResult indices(StringRef what, RankedTensorType type, int64_t expected) const {
    if (failed(rank(what, type, expected)))
      return failure();
    return element(what, type, IntegerType::get(type.getContext(), 32));
  }

private:
  Operation *op_;
};

} // namespace

LogicalResult WeightOp::verify() {
  if (getTensors().empty())
    return emitOpError() << "names no tensor, expected at least one";
  if (!getResult().getType().hasStaticShape())
    return emitOpError() << "is " << getResult().getType() << ", expected static extents";
  return success();
}

LogicalResult GatherOp::verify() {
  Check check(*this);
  RankedTensorType table = getTable().getType(), index = getIndex().getType();
  RankedTensorType result = getResult().getType();
  if (failed(check.rank("table", table, 2)) || failed(check.indices("index", index, 1)) ||
      failed(check.rank("result", result, 2)) || failed(check.f32("result", result)) ||
      failed(check.agree("index", index, 0, "result", result, 0)))
    return failure();
  return check.agree("table", table, 1, "result", result, 1);
}

LogicalResult NormOp::verify() {
  Check check(*this);
  RankedTensorType value = getValue().getType(), weight = getWeight().getType();
  if (failed(check.f32("value", value)) || failed(check.rank("weight", weight, 1)) ||
      failed(check.f32("weight", weight)) ||
      failed(check.agree("value", value, value.getRank() - 1, "weight", weight, 0)))
    return failure();
  return check.same("result", getResult().getType(), value);
}

// Axes of one operand that its list names: in range, each once.
static LogicalResult verifyAxes(Operation *op, StringRef what, RankedTensorType type,
                                ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
  SmallVector<bool> seen(type.getRank(), false);
  for (int64_t axis : llvm::concat<const int64_t>(batch, contracting)) {
    if (axis < 0 || axis >= type.getRank())
      return op->emitOpError() << "names axis " << axis << " of " << what << ", which is " << type;
    if (std::exchange(seen[axis], true))
      return op->emitOpError() << "names axis " << axis << " of " << what << " twice";
  }
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
         ArrayRef<int64_t>(getAContracting()) == ArrayRef<int64_t>{last} &&
         ArrayRef<int64_t>(getBContracting()) == ArrayRef<int64_t>{1};
}

LogicalResult MapOp::verify() {
  Check check(*this);
  if (getValues().empty())
    return emitOpError() << "has no operand, expected at least one";
  RankedTensorType result = getResult().getType();
  for (Value value : getValues())
    if (failed(
            check.sameShape("operand", cast<RankedTensorType>(value.getType()), "result", result)))
      return failure();
  mlir::Block &block = getBody().front();
  if (block.getNumArguments() != getValues().size())
    return emitOpError() << "has " << getValues().size() << " operands and "
                         << block.getNumArguments() << " region arguments, expected as many";
  for (auto [value, argument] : llvm::zip_equal(getValues(), block.getArguments()))
    if (failed(check.same("region argument", argument.getType(),
                          cast<RankedTensorType>(value.getType()).getElementType())))
      return failure();
  for (Operation &op : block)
    if (!isa<YieldOp>(op) && !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      return emitOpError() << "contains '" << op.getName() << "', expected arith and math only";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError() << "ends in '" << block.getTerminator()->getName()
                         << "', expected graph.yield";
  return check.same("yielded element", yield.getValue().getType(), result.getElementType());
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

LogicalResult ReshapeOp::verify() {
  Check check(*this);
  RankedTensorType from = getValue().getType(), to = getResult().getType();
  auto staticInside = [](RankedTensorType type) {
    return llvm::none_of(type.getShape().drop_front(), ShapedType::isDynamic);
  };
  if (!staticInside(from) || !staticInside(to))
    return emitOpError() << "turns " << from << " into " << to
                         << ", expected only the first extent to be dynamic";
  if (failed(check.agree("value", from, 0, "result", to, 0)))
    return failure();
  if (ShapedType::getNumElements(from.getShape().drop_front()) !=
          ShapedType::getNumElements(to.getShape().drop_front()) ||
      from.getElementType() != to.getElementType())
    return emitOpError() << "turns " << from << " into " << to << ", expected the same elements";
  return success();
}

LogicalResult SliceOp::verify() {
  Check check(*this);
  RankedTensorType from = getValue().getType(), to = getResult().getType();
  if (failed(check.rank("value", from, 2)) || failed(check.rank("result", to, 2)) ||
      failed(check.agree("value", from, 0, "result", to, 0)) ||
      failed(check.element("result", to, from.getElementType())))
    return failure();
  int64_t columns = from.getDimSize(1), taken = to.getDimSize(1);
  if (from.isDynamicDim(1) || to.isDynamicDim(1) || taken > columns ||
      static_cast<int64_t>(getOffset()) > columns - taken)
    return emitOpError() << "takes columns from " << getOffset() << " of " << from << " into " << to
                         << ", expected a range inside";
  return success();
}

LogicalResult RopeTableOp::verify() {
  Check check(*this);
  RankedTensorType result = getResult().getType();
  if (failed(check.indices("positions", getPositions().getType(), 1)) ||
      failed(check.rank("result", result, 2)) || failed(check.f32("result", result)) ||
      failed(check.agree("result", result, 0, "positions", getPositions().getType(), 0)))
    return failure();
  int64_t dims = getDims();
  if (dims % 2 != 0 || result.isDynamicDim(1) || result.getDimSize(1) % 2 != 0 ||
      dims > result.getDimSize(1))
    return emitOpError() << "rotates " << dims << " elements by " << result
                         << ", expected an even number of at most the last extent, which is even";
  if (!getBase().isFinite() || getBase().isNegative() || getBase().isZero())
    return emitOpError() << "has a base that is not a positive number";
  if (std::optional<ArrayRef<float>> scales = getScales();
      scales && static_cast<int64_t>(scales->size()) != dims / 2)
    return emitOpError() << "has " << scales->size() << " scales, expected " << dims / 2;
  if (std::optional<APFloat> magnitude = getMagnitude(); magnitude && !magnitude->isFinite())
    return emitOpError() << "has a magnitude that is not a number";
  if (!getDivisors())
    return success();
  RankedTensorType divisors = getDivisors().getType();
  if (failed(check.rank("divisors", divisors, 1)) || failed(check.f32("divisors", divisors)))
    return failure();
  if (dims != result.getDimSize(1) || divisors.getDimSize(0) != dims / 2)
    return emitOpError() << "divides angles of " << dims << " elements by " << divisors
                         << ", expected one number for each pair of " << result.getDimSize(1);
  return success();
}

LogicalResult RopeOp::verify() {
  Check check(*this);
  RankedTensorType value = getValue().getType(), rotations = getTable().getType();
  if (failed(check.rank("value", value, 3)) || failed(check.f32("value", value)) ||
      failed(check.rank("rotations", rotations, 2)) || failed(check.f32("rotations", rotations)) ||
      failed(check.agree("value", value, 0, "rotations", rotations, 0)) ||
      failed(check.agree("value", value, 2, "rotations", rotations, 1)) ||
      failed(check.same("result", getResult().getType(), value)))
    return failure();
  if (value.isDynamicDim(2) || value.getDimSize(2) % 2 != 0)
    return emitOpError() << "rotates heads in " << value << ", expected an even last extent";
  return success();
}

// Value pools are [pages, heads, R, D], key pools [pages, heads, D, R] or, of blocks, as value
// pools.
static LogicalResult verifyPool(Operation *op, RankedTensorType pool) {
  if (pool.isDynamicDim(1) || pool.isDynamicDim(2) || pool.isDynamicDim(3))
    return op->emitOpError() << "pool is " << pool
                             << ", expected only the number of pages to be dynamic";
  return success();
}

static LogicalResult verifyPools(Operation *op, RankedTensorType keys, RankedTensorType values) {
  Check check(op);
  bool blocks = isa<tile::BlockType>(keys.getElementType());
  const int64_t inValues[] = {0, 1, blocks ? 2 : 3, blocks ? 3 : 2};
  if (failed(check.rank("key pool", keys, 4)) || failed(check.rank("value pool", values, 4)) ||
      failed(check.element("value pool", values, keys.getElementType())))
    return failure();
  for (int64_t axis = 0; axis < 4; ++axis)
    if (failed(check.agree("key pool", keys, axis, "value pool", values, inValues[axis])))
      return failure();
  return verifyPool(op, keys);
}

PoolShape poolShapeOf(KvAppendOp op) {
  RankedTensorType pool = op.getPool().getType();
  if (op.getPart() == KvPart::Keys && !isa<tile::BlockType>(pool.getElementType()))
    return {pool.getDimSize(1), pool.getDimSize(3), pool.getDimSize(2)};
  return poolShapeOf(pool);
}

LogicalResult KvAppendOp::verify() {
  Check check(*this);
  RankedTensorType rows = getRows().getType(), pool = getPool().getType();
  if (failed(check.rank("rows", rows, 3)) || failed(check.f32("rows", rows)) ||
      failed(check.indices("slots", getSlots().getType(), 1)) ||
      failed(check.agree("rows", rows, 0, "slots", getSlots().getType(), 0)) ||
      failed(check.rank("pool", pool, 4)) || failed(verifyPool(*this, pool)))
    return failure();
  const bool transposed = getPart() == KvPart::Keys && !isa<tile::BlockType>(pool.getElementType());
  if (failed(check.agree("rows", rows, 1, "pool", pool, 1)) ||
      failed(check.agree("rows", rows, 2, "pool", pool, transposed ? 2 : 3)))
    return failure();
  return check.same("result", getResult().getType(), pool);
}

static LogicalResult verifyAttendIndices(PagedAttentionOp op, Check check) {
  RankedTensorType query = op.getQuery().getType(), blocks = op.getQueryTiles().getType();
  if (failed(check.indices("positions", op.getPositions().getType(), 1)) ||
      failed(check.agree("query", query, 0, "positions", op.getPositions().getType(), 0)) ||
      failed(check.indices("page table", op.getPageTable().getType(), 2)) ||
      failed(check.indices("lengths", op.getLengths().getType(), 1)) ||
      failed(check.agree("page table", op.getPageTable().getType(), 0, "lengths",
                         op.getLengths().getType(), 0)) ||
      failed(check.indices("blocks", blocks, 2)))
    return failure();
  if (blocks.getDimSize(1) != 3)
    return op.emitOpError() << "blocks are " << blocks
                            << ", expected three columns: sequence, first row, rows";
  return success();
}

LogicalResult PagedAttentionOp::verify() {
  Check check(*this);
  RankedTensorType query = getQuery().getType(), keys = getKeys().getType();
  if (failed(check.rank("query", query, 3)) || failed(check.f32("query", query)) ||
      failed(verifyPools(*this, keys, getValues().getType())) ||
      failed(check.agree("query", query, 2, "value pool", getValues().getType(), 3)) ||
      failed(check.same("result", getResult().getType(), query)))
    return failure();
  if (query.isDynamicDim(1) || query.getDimSize(1) % poolShapeOf(getValues().getType()).heads != 0)
    return emitOpError() << "has query " << query << " and key pool " << keys
                         << ", expected heads to be a multiple of the keys' heads";
  return verifyAttendIndices(*this, check);
}

} // namespace sinter::graph
