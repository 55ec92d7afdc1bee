// Blocking, packed columns: what one panel of a matmul reads of b, side by side in scratch in the
// order in which it is read.
#include "targets/cpu/blocking/blocker.h"

#include "numeric/formats/dot_packing.h"

using namespace mlir;

namespace sinter::targets::cpu {

tile::LoadOp loadOf(Value value) {
  while (auto widened = value.getDefiningOp<arith::ExtFOp>())
    value = widened.getIn();
  if (auto dequantized = dequantizingOf(value))
    value = dequantized.getValue();
  return value.getDefiningOp<tile::LoadOp>();
}

static int64_t lastAxisOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() - 1;
}

// Whether the value's elements are words of neighbours along the axis.
static bool pairsAlong(Value value, int64_t axis) {
  auto pair = value.getDefiningOp<sched::PairOp>();
  return pair && static_cast<int64_t>(pair.getAxis()) == axis;
}

int64_t dequantizedLength(Value value) {
  tile::DequantizeOp dequantize = dequantizingOf(value);
  if (!dequantize)
    return 1;
  const BlockFormat *format =
      tile::blockFormatOf(getElementTypeOrSelf(dequantize.getValue().getType()));
  int64_t length = format ? format->blockLength : kActivationLength;
  return pairsAlong(value, lastAxisOf(value)) ? length / 2 : length;
}

// Whether neighbours along the last axis are neighbours in memory.
static bool runsAlongLastAxis(Value value) {
  if (auto pair = value.getDefiningOp<sched::PairOp>())
    value = pair.getValue();
  tile::LoadOp load = loadOf(value);
  if (!load)
    return false;
  tile::ViewType view = load.getView().getType();
  return !view.getInterleave() && !view.getStrided();
}

Value Blocker::depthEnd(tile::DotOp dot, int64_t depth, int64_t step) {
  tile::LoadOp load = loadOf(dot.getB());
  if (!load || load.getPadAttr() || load.getView().getType().getRank() != 2)
    return index(depth);
  unsigned axis = dot.getTransposeB() ? 1 : 0;
  Value dim = b_.createOrFold<tile::DimOp>(loc_, mapped(load.getView()), axis);
  Value left = b_.createOrFold<arith::SubIOp>(loc_, dim, mapped(load.getOffsets()[axis]));
  Value end = b_.createOrFold<arith::MinSIOp>(loc_, left, index(depth));
  return floorTo(add(end, index(step - 1)), step);
}

LogicalResult Blocker::loopOver(Value from, Value end, int64_t step,
                                llvm::function_ref<LogicalResult(Value)> body) {
  auto loop = scf::ForOp::create(b_, loc_, from, end, index(step));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  return body(loop.getInductionVar());
}

LogicalResult Blocker::packBlock(tile::DotOp dot, const Columns &columns, Value column,
                                 int64_t count, Value k, int64_t depth) {
  bool across = dot.getTransposeB();
  Value at = add(columns.from, column);
  Block block = across ? Block{{at, k}, {count, depth}} : Block{{k, at}, {depth, count}};
  FailureOr<Value> part = stream(dot.getB(), block);
  if (failed(part))
    return failure();
  write(*part, columns.packed, across ? ArrayRef{column, k} : ArrayRef{k, column});
  return success();
}

// Columns whose elements lie along K turn in squares of vectors.
LogicalResult Blocker::packSquares(tile::DotOp dot, const Columns &columns, Value end,
                                   int64_t depth) {
  int64_t lanes = facts_.lanes, whole = columns.count / lanes * lanes;
  int64_t wholeDepth = depth / lanes * lanes, rest = columns.count - whole;
  Value squares = b_.createOrFold<arith::MinSIOp>(loc_, end, index(wholeDepth));
  if (failed(loopOver(index(0), index(whole), lanes, [&](Value column) {
        if (failed(loopOver(index(0), squares, lanes, [&](Value k) {
              return packBlock(dot, columns, column, lanes, k, lanes);
            })))
          return failure();
        return loopOver(index(wholeDepth), end, 1,
                        [&](Value k) { return packBlock(dot, columns, column, lanes, k, 1); });
      })))
    return failure();
  if (!rest)
    return success();
  return loopOver(index(0), end, 1,
                  [&](Value k) { return packBlock(dot, columns, index(whole), rest, k, 1); });
}

// Whole blocks along K, whose vectors turn as those of squares; each at a known place of its block.
LogicalResult Blocker::packDequantized(tile::DotOp dot, const Columns &columns, Value end) {
  int64_t lanes = facts_.lanes, whole = columns.count / lanes * lanes;
  int64_t length = dequantizedLength(dot.getB());
  auto along = [&](Value column, int64_t count) {
    return loopOver(index(0), end, length, [&](Value k) {
      for (int64_t at = 0; at < length; at += lanes)
        if (failed(packBlock(dot, columns, column, count, add(k, index(at)), lanes)))
          return failure();
      return success();
    });
  };
  if (failed(loopOver(index(0), index(whole), lanes,
                      [&](Value column) { return along(column, lanes); })))
    return failure();
  int64_t rest = columns.count - whole;
  return rest ? along(index(whole), rest) : success();
}

LogicalResult Blocker::packColumns(tile::DotOp dot, Columns &columns) {
  auto type = cast<RankedTensorType>(dot.getB().getType());
  bool across = dot.getTransposeB();
  int64_t depth = type.getDimSize(across ? 1 : 0);
  SmallVector<int64_t> shape{depth, columns.count};
  if (across)
    std::swap(shape[0], shape[1]);
  columns.packed = allocate(RankedTensorType::get(shape, type.getElementType()), {across, 0});
  Value end = depthEnd(dot, depth, unrollOf(depth));
  if (across && dequantizingOf(dot.getB()))
    return packDequantized(dot, columns, end);
  if (across && runsAlongLastAxis(dot.getB()))
    return packSquares(dot, columns, end, depth);
  return loopOver(index(0), end, 1,
                  [&](Value k) { return packBlock(dot, columns, index(0), columns.count, k, 1); });
}

} // namespace sinter::targets::cpu
