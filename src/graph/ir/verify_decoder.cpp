// What makes the decoder's operations well formed: RoPE, KV cache, attention.
#include "tile/mlir_pch.h"

#include "graph/ir/check.h"

#include <cmath>

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
  if (dims % 2 != 0 || dims != result.getDimSize(1))
    return emitOpError() << "rotates " << dims << " elements by " << result
                         << ", expected an even number that is the last extent";
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
  if (divisors.getDimSize(0) < dims / 2)
    return emitOpError() << "divides angles of " << dims << " elements by " << divisors
                         << ", expected a number for each pair";
  return success();
}

LogicalResult RopeOp::verify() {
  Check check(*this);
  RankedTensorType value = getValue().getType(), table = getTable().getType();
  if (failed(check.rank("value", value, 3)) || failed(check.f32("value", value)) ||
      failed(check.rank("table", table, 2)) || failed(check.f32("table", table)) ||
      failed(check.agree("value", value, 0, "table", table, 0)) ||
      failed(check.same("result", getResult().getType(), value)))
    return failure();
  const int64_t dims = rotating();
  if (value.isDynamicDim(2) || dims % 2 != 0 || dims > value.getDimSize(2))
    return emitOpError() << "rotates " << dims << " elements of heads in " << value
                         << ", expected an even number of at most the last extent";
  if (table.getDimSize(1) != dims)
    return emitOpError() << "rotates " << dims << " elements by " << table
                         << ", expected a table of as many columns";
  return success();
}

static LogicalResult verifyPool(Operation *op, RankedTensorType pool) {
  if (pool.isDynamicDim(1) || pool.isDynamicDim(2) || pool.isDynamicDim(3))
    return op->emitOpError() << "pool is " << pool
                             << ", expected only the number of pages to be dynamic";
  return success();
}

// Value pools are [pages, heads, R, D], key pools [pages, heads, D, R] or, of blocks, as value
// pools. Heads of keys and of values may differ in size.
static LogicalResult verifyPools(Operation *op, RankedTensorType keys, RankedTensorType values) {
  Check check(op);
  const int64_t rowsOfKeys = isa<tile::BlockType>(keys.getElementType()) ? 2 : 3;
  if (failed(check.rank("key pool", keys, 4)) || failed(check.rank("value pool", values, 4)) ||
      failed(check.element("value pool", values, keys.getElementType())) ||
      failed(check.agree("key pool", keys, 0, "value pool", values, 0)) ||
      failed(check.agree("key pool", keys, 1, "value pool", values, 1)) ||
      failed(check.agree("key pool", keys, rowsOfKeys, "value pool", values, 2)) ||
      failed(verifyPool(op, keys)))
    return failure();
  return verifyPool(op, values);
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

// What the attributes make of scores.
static LogicalResult verifyScores(PagedAttentionOp op, Check check, int64_t heads) {
  if (op.getWindow() && op.getChunk())
    return op.emitOpError() << "has window " << *op.getWindow() << " and chunk " << *op.getChunk()
                            << ", expected one of them";
  if (op.getBoth() && op.getChunk())
    return op.emitOpError() << "sees both ways and has chunk " << *op.getChunk()
                            << ", expected one of them";
  if (std::optional<APFloat> cap = op.getSoftCap();
      cap && !(cap->isFinite() && *cap > APFloat(0.0f)))
    return op.emitOpError() << "has soft_cap " << op.getSoftCapAttr()
                            << ", expected a positive number";
  if (std::optional<ArrayRef<float>> slopes = op.getSlopes()) {
    if (static_cast<int64_t>(slopes->size()) != heads)
      return op.emitOpError() << "has " << slopes->size() << " slopes, expected one for each of "
                              << heads << " heads";
    if (!llvm::all_of(*slopes, [](float slope) { return std::isfinite(slope); }))
      return op.emitOpError() << "has a slope that is not a number";
  }
  if (!op.getSinks())
    return success();
  RankedTensorType sinks = op.getSinks().getType();
  if (failed(check.rank("sinks", sinks, 1)) || failed(check.f32("sinks", sinks)))
    return failure();
  if (sinks.getDimSize(0) != heads)
    return op.emitOpError() << "has sinks " << sinks << ", expected one for each of " << heads
                            << " heads";
  return success();
}

LogicalResult PagedAttentionOp::verify() {
  Check check(*this);
  RankedTensorType query = getQuery().getType(), keys = getKeys().getType(),
                   values = getValues().getType(), result = getResult().getType();
  if (failed(check.rank("query", query, 3)) || failed(check.f32("query", query)) ||
      failed(verifyPools(*this, keys, values)) ||
      failed(check.agree("query", query, 2, "key pool", keys,
                         isa<tile::BlockType>(keys.getElementType()) ? 3 : 2)) ||
      failed(check.rank("result", result, 3)) || failed(check.f32("result", result)) ||
      failed(check.agree("result", result, 0, "query", query, 0)) ||
      failed(check.agree("result", result, 1, "query", query, 1)) ||
      failed(check.agree("result", result, 2, "value pool", values, 3)))
    return failure();
  if (query.isDynamicDim(1) || query.getDimSize(1) % poolShapeOf(values).heads != 0)
    return emitOpError() << "has query " << query << " and key pool " << keys
                         << ", expected heads to be a multiple of the keys' heads";
  if (failed(verifyScores(*this, check, query.getDimSize(1))))
    return failure();
  return verifyAttendIndices(*this, check);
}

int64_t PagedAttentionOp::firstSeen(int64_t position) {
  if (std::optional<uint64_t> window = getWindow()) {
    const auto back = static_cast<int64_t>(getBoth() ? *window / 2 : *window - 1);
    return std::max<int64_t>(0, position - back);
  }
  if (std::optional<uint64_t> chunk = getChunk())
    return position / static_cast<int64_t>(*chunk) * static_cast<int64_t>(*chunk);
  return 0;
}

int64_t PagedAttentionOp::endSeen(int64_t position, int64_t length) {
  if (!getBoth())
    return std::min(position + 1, length);
  if (std::optional<uint64_t> window = getWindow())
    return std::min(position + static_cast<int64_t>(*window / 2) + 1, length);
  return length;
}

} // namespace sinter::graph
