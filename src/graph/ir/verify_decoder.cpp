// What makes the decoder's operations well formed: RoPE, KV cache, attention.
#include "tile/mlir_pch.h"

#include "graph/ir/check.h"

using namespace mlir;

namespace sinter::graph {

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

static LogicalResult verifyPool(Operation *op, RankedTensorType pool) {
  if (pool.isDynamicDim(1) || pool.isDynamicDim(2) || pool.isDynamicDim(3))
    return op->emitOpError() << "pool is " << pool
                             << ", expected only the number of pages to be dynamic";
  return success();
}

// Value pools are [pages, heads, R, D], key pools [pages, heads, D, R] or, of blocks, as value
// pools.
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
