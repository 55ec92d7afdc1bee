// Blocking, contractions: register blocks of accumulators over a K loop, sized for the register
// file.
#include "sched/view_bounds.h"
#include "targets/cpu/blocking/block.h"
#include "targets/cpu/blocking/blocker.h"

#include "numeric/formats/dot_packing.h"

using namespace mlir;

namespace sinter::targets::cpu {

// Vectors side by side: more would need columns that few tiles have.
static constexpr int64_t kMostVectors = 4;
static constexpr int64_t kSmallMVectors = 2;

int64_t Blocker::unrollOf(int64_t depth) {
  return depth % kUnrollK == 0 ? kUnrollK : 1;
}

// Rows that fit beside so many vectors of columns: their accumulators within the budget, and
// registers left for the vectors, one element of a and one load ahead.
static int64_t rowsBeside(const CpuFacts &facts, int64_t vectors, int64_t tileRows) {
  int64_t most = std::min(facts.accumulatorBudget(), facts.registers - vectors - 2) / vectors;
  return std::clamp<int64_t>(most, 1, tileRows);
}

// Vectors side by side that take the fewest loads of a and b over all of a tile's columns: a block
// of r rows and v vectors loads r + v times for r * v multiply-adds. As many as make whole blocks
// of `length` columns, where columns are dequantized.
static int64_t vectorsFor(const CpuFacts &facts, int64_t tileRows, int64_t columns,
                          int64_t length) {
  int64_t multiple = llvm::divideCeil(length, facts.lanes), best = multiple;
  int64_t most = std::max(multiple, std::min(kMostVectors, columns / facts.lanes));
  double fewest = 0;
  for (int64_t v = multiple; v <= most; v += multiple) {
    auto loads = [&](int64_t vectors) {
      double rows = static_cast<double>(rowsBeside(facts, vectors, tileRows));
      return (rows + static_cast<double>(vectors)) / rows;
    };
    int64_t panels = columns / (v * facts.lanes);
    int64_t rest = llvm::divideCeil(columns - panels * v * facts.lanes, facts.lanes);
    double all = static_cast<double>(panels) * loads(v) + static_cast<double>(rest) * loads(1);
    if (v == multiple || all < fewest) {
      best = v;
      fewest = all;
    }
  }
  return best;
}

// True if b is row-interleaved and unquantized: a small-M matmul reads it in place. A copy would
// add a read and a write (SmolLM2 in F16, 8 sequences: in place 1.8 times as many tokens per
// second).
static bool isRowInterleaved(tile::DotOp dot) {
  tile::LoadOp load = loadOf(dot.getB());
  return load && !dequantizingOf(dot.getB()) && dot.getTransposeB() &&
         load.getView().getType().getInterleave();
}

// A small-M matmul streams weights from memory. One group of columns after the other makes that one
// run of addresses. With four groups at once a model of Llama-3.2-1B's shape decodes 0.5 (Q3_K),
// 0.6 (Q4_K), 0.7 (Q6_K, IQ4_XS) and 0.95 (MXFP4) times as many tokens per second, and an F16 GEMV
// reaches 0.8 of the memory rate instead of 0.9 (two threads of a Zen 5). An unquantized GEMV has
// two vectors: one, a chain of multiply-adds, takes as long as fast memory (f16 on a Zen 4: from a
// cache 50 GB/s a thread instead of 31; SmolLM2: 1.04 times as many tokens per second).
int64_t vectorsByRules(const CpuFacts &facts, tile::DotOp dot) {
  auto accumulators = cast<RankedTensorType>(dot.getAcc().getType());
  if (isBlockTile(dot.getA()))
    return accumulators.getDimSize(0) == 1 ? vectorsOfGroup(facts) : vectorsOfPanels(facts, dot);
  if (accumulators.getDimSize(0) <= CpuSchedule().inPlaceRows && isRowInterleaved(dot))
    return std::max(vectorsOfGroup(facts), accumulators.getDimSize(0) == 1 ? kSmallMVectors : 1);
  int64_t length = dot.getTransposeB() ? 1 : dequantizedLength(dot.getB());
  return vectorsFor(facts, accumulators.getDimSize(0), accumulators.getDimSize(1), length);
}

FailureOr<Value> Blocker::dotStep(tile::DotOp dot, Value acc, Value row, int64_t rows,
                                  const Columns &columns, Value k, int64_t depth) {
  if (columns.words)
    return panelStep(dot, acc, row, rows, columns, k);
  FailureOr<Value> av = stream(dot.getA(), {{row, k}, {rows, depth}});
  bool across = dot.getTransposeB();
  Value at = columns.packed ? index(0) : columns.from;
  Block b =
      across ? Block{{at, k}, {columns.count, depth}} : Block{{k, at}, {depth, columns.count}};
  FailureOr<Value> bv =
      columns.packed ? FailureOr<Value>(read(columns.packed, b)) : stream(dot.getB(), b);
  if (failed(av) || failed(bv))
    return failure();
  if (columns.inside.value_or(false))
    loadOf(*bv)->setAttr(kRowsInside, b_.getUnitAttr());
  return tile::DotOp::create(b_, loc_, acc.getType(), *av, *bv, acc, across).getResult();
}

LogicalResult Blocker::dotBlock(tile::DotOp dot, Value into, Value row, int64_t rows,
                                const Columns &columns) {
  int64_t depth = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  bool blocks = isBlockTile(dot.getA());
  int64_t step = !blocks ? 1 : columns.words ? scaleLengthOf(dot) : wholeLengthOf(dot);
  int64_t unroll = blocks ? 1 : unrollOf(depth);
  Block block{{row, columns.from}, {rows, columns.count}};
  FailureOr<Value> acc = accumulatorsBefore(dot, block);
  if (failed(acc))
    return failure();
  Value end = blocks ? groupsEnd(dot, depth) : depthEnd(dot, depth, unroll);
  bool stepped = rows > 1 && loopAlongK(dot), ahead = columns.packed && stepped;
  if (ahead || (blocks && (stepped || (rows > 1 && !into))))
    prefetchAccumulators(dot, into, columns, row, rows);
  if (ahead)
    prefetchRows(dot, columns, row, rows);
  if (columns.words)
    prefetchExpanded(dot, columns, row, rows);
  auto loop = scf::ForOp::create(b_, loc_, index(0), end, index(step * unroll), ValueRange{*acc});
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    FailureOr<Value> sum = Value(loop.getRegionIterArg(0));
    if (!blocks && !columns.packed)
      prefetchStream(dot, columns, loop.getInductionVar(), step * unroll);
    if (ahead)
      prefetchNext(dot, columns, row, rows, loop.getInductionVar());
    if (!blocks && !columns.packed && rows == rowsOf(dot))
      prefetchNextMatmul(dot, columns, divided(loop.getInductionVar(), step * unroll),
                         depth / (step * unroll));
    for (int64_t u = 0; u < unroll && succeeded(sum); ++u)
      sum = dotStep(dot, *sum, row, rows, columns, add(loop.getInductionVar(), index(u * step)),
                    step);
    if (failed(sum))
      return failure();
    if (blocks && !columns.words)
      prefetch((*sum).getDefiningOp<tile::DotOp>(), prefetchOf(dot));
    scf::YieldOp::create(b_, loc_, ValueRange{*sum});
  }
  return accumulatorsAfter(dot, loop.getResult(0), into, block);
}

// Rows of the accumulators. Blocks of activations are read without a check of their own: rows end
// where a does.
Value Blocker::rowLimit(tile::DotOp dot) {
  Value limit = extent(dot.getAcc(), 0);
  auto load = dot.getA().getDefiningOp<tile::LoadOp>();
  if (!load || !isBlockTile(dot.getA()))
    return limit;
  Value dim = b_.createOrFold<tile::DimOp>(loc_, mapped(load.getView()), 0u);
  Value left = b_.createOrFold<arith::SubIOp>(loc_, dim, mapped(load.getOffsets()[0]));
  left = b_.createOrFold<arith::MaxSIOp>(loc_, left, index(0));
  return b_.createOrFold<arith::MinSIOp>(loc_, limit, left);
}

// Blocks of so many rows take what larger ones leave; what they leave is single rows.
static constexpr int64_t kRestRows = 4;

// The size of no more than `most` rows whose blocks and what they leave are the fewest: 8 rows in
// blocks of 6 would be three (avx2 on a Zen 3, 8 rows of f16: 0.6 of the time in two blocks of 4).
static int64_t rowsInFewestBlocks(int64_t most, int64_t tileRows) {
  auto blocks = [&](int64_t size) {
    int64_t rest = tileRows % size;
    return size > kRestRows ? tileRows / size + rest / kRestRows + rest % kRestRows
                            : tileRows / size + rest;
  };
  int64_t best = most;
  for (int64_t size = most - 1; size > 0; --size)
    best = blocks(size) < blocks(best) ? size : best;
  return best;
}

// The rows of blocks of a size: all that are whole, or fewer by so many that the rest are whole
// blocks of kRestRows, since a single row takes as long as four (prompts of 512 and iq4_xs: 0.9 %,
// q4_1: 0.4 %).
Value Blocker::wholeBlocks(Value rows, int64_t size) {
  Value whole = floorTo(rows, size);
  if (size <= kRestRows || size % 2 == 0)
    return whole;
  // An odd size is 1 or -1 modulo 4, so that each block given back brings the rest by one nearer.
  int64_t sign = size % kRestRows == 1 ? kRestRows - 1 : 1;
  Value rest = b_.createOrFold<arith::SubIOp>(loc_, rows, whole);
  Value blocks = b_.createOrFold<arith::RemUIOp>(loc_, multiplied(rest, sign), index(kRestRows));
  Value fewer = multiplied(blocks, size);
  Value enough = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::uge, whole, fewer);
  Value less = b_.createOrFold<arith::SubIOp>(loc_, whole, fewer);
  return arith::SelectOp::create(b_, loc_, enough, less, whole);
}

// Rows in register tiles of the largest size that fits, then of 4 rows, then of 1, so that a small
// M costs little. At small M with streamed unquantized weights, 2 or 3 rows are a register tile too
// (avx2 on a Zen 3, f16: they take as long as one). The last columns of b, which few programs have,
// take single rows.
LogicalResult Blocker::dotRows(tile::DotOp dot, Value into, const Columns &columns) {
  int64_t tileRows = cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(0);
  int64_t vectors = llvm::divideCeil(columns.count, facts_.lanes);
  int64_t most = rowsBeside(facts_, vectors, tileRows);
  if (isBlockTile(dot.getA()))
    most = columns.words ? rowsOfPanels(facts_, vectors, bool(columns.mins), tileRows)
                         : rowsOfBlocks(facts_, vectors, tileRows);
  bool few = expands(facts_, dot) || placement_.of(dot.getB()) == Place::Packed;
  if (few && !columns.words && !columns.packed)
    most = std::min(most, schedule_.inPlaceRows);
  if (schedule_.rows)
    most = std::min(most, schedule_.rows);
  most = columns.inside.value_or(true) ? rowsInFewestBlocks(most, tileRows) : 1;
  Value limit = rowLimit(dot), from = index(0);
  SmallVector<int64_t> sizes{most};
  bool scalars = !isBlockTile(dot.getA()) && !columns.packed && tileRows <= schedule_.inPlaceRows;
  for (int64_t rows = std::min(kRestRows, most - 1); rows > 0; --rows)
    if (scalars || rows == kRestRows || rows == 1)
      sizes.push_back(rows);
  for (int64_t rows : sizes) {
    Value left = b_.createOrFold<arith::SubIOp>(loc_, limit, from);
    Value end = add(from, wholeBlocks(left, rows));
    auto loop = scf::ForOp::create(b_, loc_, from, end, index(rows));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    if (failed(dotBlock(dot, into, loop.getInductionVar(), rows, columns)))
      return failure();
    from = end;
  }
  return isBlockTile(dot.getA()) ? endOtherRows(dot, into, limit, columns) : success();
}

// The accumulators of rows that a does not have end as they begin.
LogicalResult Blocker::endOtherRows(tile::DotOp dot, Value into, Value from,
                                    const Columns &columns) {
  return loopOver(from, extent(dot.getAcc(), 0), 1, [&](Value row) -> LogicalResult {
    Block block{{row, columns.from}, {1, columns.count}};
    FailureOr<Value> accumulators = accumulatorsBefore(dot, block);
    return failed(accumulators) ? failure() : accumulatorsAfter(dot, *accumulators, into, block);
  });
}

// Columns of a register tile at small M. Of block formats: one group, since two take twice as long.
// Of unquantized weights: as many vectors as leave all accumulators in registers; two hide the
// latency of multiply-adds.
int64_t Blocker::smallMColumns(tile::DotOp dot) {
  if (isBlockTile(dot.getA()))
    return kInterleavedRows;
  return facts_.lanes * std::clamp<int64_t>(facts_.accumulatorBudget() /
                                                std::max<int64_t>(schedule_.inPlaceRows, 1),
                                            1, kSmallMVectors);
}

// Whether b has all of the columns; null where it does not matter. Masks cost even if all lanes are
// there, most where they are branches (4 and 8 rows of f16 without them: avx2 on a Zen 3 0.4 and
// 0.5 of the time, avx512 on a Zen 4 0.85 and 0.85).
Value Blocker::haveAll(tile::DotOp dot, const Columns &columns) {
  if (columns.packed || columns.words || isBlockTile(dot.getA()) || !isRowInterleaved(dot) ||
      placement_.of(dot.getB()) == Place::Scratch)
    return {};
  tile::LoadOp load = loadOf(dot.getB());
  if (load.getView().getDefiningOp<tile::WindowOp>()) // it may end where the view around it does
    return {};
  Value dim = b_.createOrFold<tile::DimOp>(loc_, mapped(load.getView()), 0u);
  // What is left of an offset of any size does not wrap where it is positive.
  Value left = b_.createOrFold<arith::SubIOp>(loc_, dim, mapped(load.getOffsets()[0]));
  return b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::sge, left,
                                        add(columns.from, index(columns.count)));
}

LogicalResult Blocker::dotColumnsAt(tile::DotOp dot, Value into, Columns columns, bool prepared) {
  bool packs = placement_.of(dot.getB()) == Place::Packed;
  if (prepared && packs && failed(packColumns(dot, columns)))
    return failure();
  if (prepared && expands(facts_, dot) && failed(expandColumns(dot, columns)))
    return failure();
  Value all = haveAll(dot, columns);
  if (!all)
    return dotRows(dot, into, columns);
  auto branch = scf::IfOp::create(b_, loc_, all, /*withElseRegion=*/true);
  for (bool inside : {true, false}) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(inside ? branch.thenBlock() : branch.elseBlock());
    columns.inside = inside;
    if (failed(dotRows(dot, into, columns)))
      return failure();
  }
  return success();
}

LogicalResult Blocker::dotColumnLoop(tile::DotOp dot, Value into, Value from, Value end,
                                     int64_t step, bool prepared) {
  return loopOver(from, end, step, [&](Value column) {
    return dotColumnsAt(dot, into, {.from = column, .count = step}, prepared);
  });
}

// All columns, `step` at a time; b is read as it lies where it is not `prepared`.
LogicalResult Blocker::dotColumnLoops(tile::DotOp dot, Value into, int64_t step, bool prepared) {
  int64_t columns = cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(1);
  bool blocks = isBlockTile(dot.getA());
  int64_t whole = blocks ? columns : columns / step * step;
  Value limit = extent(dot.getAcc(), 1);
  if (whole) {
    Value end =
        whole == columns ? limit : b_.createOrFold<arith::MinSIOp>(loc_, limit, index(whole));
    // Packed rows end with their group of rows: a block of several groups must lie inside.
    bool groups = blocks && step > kInterleavedRows;
    Value full = groups ? floorTo(end, step) : end;
    if (failed(dotColumnLoop(dot, into, index(0), full, step, prepared)) ||
        (groups && failed(dotColumnLoop(dot, into, full, end, kInterleavedRows, prepared))))
      return failure();
  }
  for (int64_t at = whole; at < columns;) {
    int64_t size = std::min(columns - at, facts_.lanes);
    if (failed(dotColumnsAt(dot, into, {.from = index(at), .count = size}, prepared)))
      return failure();
    at += size;
  }
  return success();
}

// The largest M that reads b in place.
int64_t Blocker::mostInPlace(tile::DotOp dot) const {
  if (!isBlockTile(dot.getA()))
    return schedule_.inPlaceRows;
  return schedule_.inPlaceBlockRows >= 0 ? schedule_.inPlaceBlockRows : inPlaceByRules(facts_);
}

LogicalResult Blocker::dotColumns(tile::DotOp dot, Value into, int64_t step) {
  bool packs = placement_.of(dot.getB()) == Place::Packed;
  if (!expands(facts_, dot) && !(packs && isRowInterleaved(dot)))
    return dotColumnLoops(dot, into, step, /*prepared=*/true);
  Value many = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::sgt, rowLimit(dot),
                                              index(mostInPlace(dot)));
  auto branch = scf::IfOp::create(b_, loc_, many, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.elseBlock());
  int64_t few = std::min(step, smallMColumns(dot));
  if (failed(dotColumnLoops(dot, into, few, /*prepared=*/false)))
    return failure();
  b_.setInsertionPointToStart(branch.thenBlock());
  return dotColumnLoops(dot, into, step, /*prepared=*/true);
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

// Blocks are read without a check of what lies before their view.
static LogicalResult verifyBegins(tile::DotOp dot, Value blocks) {
  tile::LoadOp load = loadOf(blocks);
  bool known = !load || llvm::all_of(load.getOffsets(), sched::isNotNegative);
  Value view = load ? load.getView() : Value();
  for (auto window = view ? view.getDefiningOp<tile::WindowOp>() : tile::WindowOp(); window;
       window = window.getView().getDefiningOp<tile::WindowOp>())
    known = known && llvm::all_of(window.getOrigins(), sched::isNotNegative);
  return known ? success()
               : dot.emitOpError()
                     << "multiplies blocks that may begin before their view, expected"
                     << " offsets and origins known to be at least 0, as max(x, 0) is";
}

LogicalResult Blocker::storeDot(tile::DotOp dot) {
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  int64_t depth = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  if (isBlockTile(dot.getA()) && depth % wholeLengthOf(dot))
    return dot.emitOpError() << "multiplies " << depth
                             << " elements along K at a time, expected whole blocks and scales of "
                             << wholeLengthOf(dot);
  if (isBlockTile(dot.getA()) && type.getDimSize(1) % kInterleavedRows)
    return dot.emitOpError() << "has " << type.getDimSize(1)
                             << " columns, expected whole groups of " << kInterleavedRows
                             << " packed rows";
  if (isBlockTile(dot.getA()) &&
      (failed(verifyBegins(dot, dot.getA())) || failed(verifyBegins(dot, dot.getB()))))
    return failure();
  Value into;
  if (auto loop = dyn_cast<scf::ForOp>(dot->getParentOp()))
    for (unsigned i = 0; i < loop.getNumRegionIterArgs() && !into; ++i)
      if (accumulatesInPlace(dot, loop, i))
        into = scratch_.lookup(loop.getRegionIterArg(i));
  if (!into && needsScratch(dot))
    into = allocate(type, {});
  int64_t vectors = vectorsByRules(facts_, dot);
  if (schedule_.vectors)
    vectors = std::min(schedule_.vectors, std::max<int64_t>(1, type.getDimSize(1) / facts_.lanes));
  int64_t step = std::min(type.getDimSize(1), vectors * facts_.lanes);
  if (isBlockTile(dot.getA()))
    step = std::max<int64_t>(step, kInterleavedRows);
  if (failed(dotColumns(dot, into, step)))
    return failure();
  if (into)
    scratch_[dot.getResult()] = into;
  return success();
}

} // namespace sinter::targets::cpu
