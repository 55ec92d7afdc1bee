// Blocking, contractions: register blocks of accumulators over a K loop, sized for the register
// file.
#include "target/cpu/blocker.h"

#include "numeric/dot_packing.h"

using namespace mlir;

namespace sinter::target::cpu {

// K steps per trip of the inner loop, to amortise its counter.
static constexpr int64_t kUnrollK = 4;
// Vectors side by side in a block of many rows: two share each broadcast of a and leave twelve rows
// on 32 registers.
static constexpr int64_t kWideVectors = 2;
// Vectors side by side in a block of one row: independent sums that hide the latency of the
// multiply-add.
static constexpr int64_t kRowVectors = 4;

static bool isBlockTile(Value value) {
  return isa<tile::BlockType>(cast<RankedTensorType>(value.getType()).getElementType());
}

FailureOr<Value> Blocker::dotStep(tile::DotOp dot, Value acc, Value row, int64_t rows, Value column,
                                  int64_t columns, Value k, int64_t depth) {
  Block a{{row, k}, {rows, depth}};
  Block b = dot.getTransposeB() ? Block{{column, k}, {columns, depth}}
                                : Block{{k, column}, {depth, columns}};
  FailureOr<Value> av = stream(dot.getA(), a), bv = stream(dot.getB(), b);
  if (failed(av) || failed(bv))
    return failure();
  return tile::DotOp::create(b_, loc_, acc.getType(), *av, *bv, acc, dot.getTransposeB())
      .getResult();
}

// Groups beyond the weights' own length are zero and add nothing: their exact end replaces a bound
// in the loop.
Value Blocker::groupsEnd(tile::DotOp dot, int64_t depth) {
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  if (!load)
    return index(depth);
  Value dim = b_.createOrFold<tile::DimOp>(loc_, mapped(load.getView()), 1u);
  Value left = b_.createOrFold<arith::SubIOp>(loc_, dim, mapped(load.getOffsets()[1]));
  return b_.createOrFold<arith::MinSIOp>(loc_, left, index(depth));
}

LogicalResult Blocker::dotBlock(tile::DotOp dot, Value into, Value row, int64_t rows, Value column,
                                int64_t columns) {
  int64_t depth = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  bool blocks = isBlockTile(dot.getA());
  int64_t step = blocks ? 32 : 1, unroll = blocks ? 1 : (depth % kUnrollK == 0 ? kUnrollK : 1);
  FailureOr<Value> acc = stream(dot.getAcc(), {{row, column}, {rows, columns}});
  if (failed(acc))
    return failure();
  Value end = blocks ? groupsEnd(dot, depth) : index(depth);
  auto loop = scf::ForOp::create(b_, loc_, index(0), end, index(step * unroll), ValueRange{*acc});
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    FailureOr<Value> sum = Value(loop.getRegionIterArg(0));
    for (int64_t u = 0; u < unroll && succeeded(sum); ++u)
      sum = dotStep(dot, *sum, row, rows, column, columns,
                    add(loop.getInductionVar(), index(u * step)), step);
    if (failed(sum))
      return failure();
    scf::YieldOp::create(b_, loc_, ValueRange{*sum});
  }
  write(loop.getResult(0), into, {row, column});
  return success();
}

// Rows in blocks of the largest size that fits, then of 4, then single ones, so that few rows cost
// few.
LogicalResult Blocker::dotRows(tile::DotOp dot, Value into, Value column, int64_t columns) {
  int64_t tileRows = cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(0);
  int64_t vectors = llvm::divideCeil(columns, facts_.lanes);
  int64_t most = std::max<int64_t>(1, facts_.accumulatorBudget() / vectors);
  if (isBlockTile(dot.getA()))
    most = std::max<int64_t>(1, most / 2); // an integer sum beside each float one
  Value limit = extent(dot.getAcc(), 0);
  // Blocks are read without a check of their own: rows end where a does.
  if (auto load = dot.getA().getDefiningOp<tile::LoadOp>(); load && isBlockTile(dot.getA())) {
    Value dim = b_.createOrFold<tile::DimOp>(loc_, mapped(load.getView()), 0u);
    Value left = b_.createOrFold<arith::SubIOp>(loc_, dim, mapped(load.getOffsets()[0]));
    limit = b_.createOrFold<arith::MinSIOp>(loc_, limit, left);
  }
  Value from = index(0);
  SmallVector<int64_t> sizes{std::min(most, tileRows)};
  for (int64_t rows : {4, 1})
    if (rows < sizes.back())
      sizes.push_back(rows);
  for (int64_t rows : sizes) {
    Value left = b_.createOrFold<arith::SubIOp>(loc_, limit, from);
    Value end = add(from, floorTo(left, rows));
    auto loop = scf::ForOp::create(b_, loc_, from, end, index(rows));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    if (failed(dotBlock(dot, into, loop.getInductionVar(), rows, column, columns)))
      return failure();
    from = end;
  }
  return success();
}

LogicalResult Blocker::dotColumnLoop(tile::DotOp dot, Value into, Value from, Value end,
                                     int64_t step) {
  auto loop = scf::ForOp::create(b_, loc_, from, end, index(step));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  return dotRows(dot, into, loop.getInductionVar(), step);
}

LogicalResult Blocker::dotColumns(tile::DotOp dot, Value into, int64_t step) {
  int64_t columns = cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(1);
  int64_t whole = columns / step * step;
  Value limit = extent(dot.getAcc(), 1);
  if (whole) {
    Value end =
        whole == columns ? limit : b_.createOrFold<arith::MinSIOp>(loc_, limit, index(whole));
    // Packed rows end with their group of rows: a block of several groups must lie inside.
    bool groups = isBlockTile(dot.getA()) && step > kInterleavedRows;
    Value full = groups ? floorTo(end, step) : end;
    if (failed(dotColumnLoop(dot, into, index(0), full, step)) ||
        (groups && failed(dotColumnLoop(dot, into, full, end, kInterleavedRows))))
      return failure();
  }
  for (int64_t at = whole; at < columns;) {
    int64_t size = std::min(columns - at, facts_.lanes);
    if (failed(dotRows(dot, into, index(at), size)))
      return failure();
    at += size;
  }
  return success();
}

// A dot may overwrite the loop-carried tile that it adds to when nobody else reads that tile
// afterwards.
bool Blocker::accumulatesInPlace(tile::DotOp dot, scf::ForOp loop, unsigned index) {
  Value arg = loop.getRegionIterArg(index);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  if (yield.getOperand(index) != dot.getResult() || !dot.getResult().hasOneUse())
    return false;
  Value cone = dot.getAcc();
  if (cone == arg)
    return arg.hasOneUse();
  // acc = f(arg): elementwise of the carried tile, used by this dot alone.
  Operation *op = cone.getDefiningOp();
  return op && op->hasTrait<OpTrait::Elementwise>() && cone.hasOneUse() && arg.hasOneUse() &&
         llvm::is_contained(op->getOperands(), arg) && !scratch_.count(cone);
}

LogicalResult Blocker::sinkDot(tile::DotOp dot) {
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  Value into;
  if (auto loop = dyn_cast<scf::ForOp>(dot->getParentOp()))
    for (unsigned i = 0; i < loop.getNumRegionIterArgs() && !into; ++i)
      if (accumulatesInPlace(dot, loop, i))
        into = scratch_.lookup(loop.getRegionIterArg(i));
  if (!into)
    into = allocate(type, {});
  int64_t vectors = type.getDimSize(0) == 1 ? kRowVectors : kWideVectors;
  if (isBlockTile(dot.getA()))
    vectors = type.getDimSize(0) == 1 ? 2 : 1;
  int64_t step = std::min(type.getDimSize(1), vectors * facts_.lanes);
  if (isBlockTile(dot.getA()))
    step = std::max<int64_t>(step, kInterleavedRows);
  if (failed(dotColumns(dot, into, step)))
    return failure();
  scratch_[dot.getResult()] = into;
  return success();
}

} // namespace sinter::target::cpu
