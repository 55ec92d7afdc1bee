// Blocking, prefetches: while a matmul multiplies, it prefetches what the next register tile and
// the next panel read.
#include "targets/cpu/blocking/blocker.h"

#include "numeric/formats/dot_packing.h"
#include "targets/cpu/emission/emit.h"

using namespace mlir;

namespace sinter::targets::cpu {

// The loop around a dot whose steps walk this axis of the load in rows of known places; else null.
static scf::ForOp loopAlong(tile::DotOp dot, tile::LoadOp load, unsigned axis) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  bool walks = loop && load && load.getOffsets()[axis] == loop.getInductionVar();
  bool plain = load && !load.getView().getType().getStrided() &&
               !load.getView().getDefiningOp<tile::GatherOp>();
  return walks && plain ? loop : scf::ForOp();
}

scf::ForOp Blocker::loopAlongK(tile::DotOp dot) {
  if (dequantizingOf(dot.getB()))
    return {};
  return loopAlong(dot, loadOf(dot.getB()), dot.getTransposeB() ? 1 : 0);
}

// Where K stands after this step of the loop; beyond the last one at its beginning again.
Value Blocker::nextK(scf::ForOp loop, Value &more) {
  Value after = add(mapped(loop.getInductionVar()), mapped(loop.getStep()));
  more = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::slt, after,
                                        mapped(loop.getUpperBound()));
  return arith::SelectOp::create(b_, loc_, more, after, mapped(loop.getLowerBound()));
}

static int64_t elementsPerLine(tile::LoadOp load) {
  return kLineBytes * 8 / load.getView().getType().getElementType().getIntOrFloatBitWidth();
}

Value Blocker::divided(Value value, int64_t by) {
  return b_.createOrFold<arith::DivUIOp>(loc_, value, index(by));
}

Value Blocker::multiplied(Value value, int64_t by) {
  return b_.createOrFold<arith::MulIOp>(loc_, value, index(by));
}

// The row blocks of one panel share the panel at (k, column), which lies in lines along its columns
// or along K.
void Blocker::prefetchPanel(tile::DotOp dot, const Columns &columns, Value row, int64_t rows,
                            Value k, Value column) {
  tile::LoadOp load = loadOf(dot.getB());
  bool across = dot.getTransposeB();
  int64_t interleave = load.getView().getType().getInterleave();
  int64_t blocks =
      std::max<int64_t>(1, cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(0) / rows);
  Value block = divided(row, rows);
  auto prefetch = [&](Value atK, Value atColumn, int64_t count) {
    atColumn = add(mapped(load.getOffsets()[across ? 0 : 1]), atColumn);
    SmallVector<Value> offsets{atColumn, atK};
    SmallVector<int64_t> extents{count, 1};
    if (!across) {
      std::swap(offsets[0], offsets[1]);
      std::swap(extents[0], extents[1]);
    }
    sched::PrefetchOp::create(b_, loc_, mapped(load.getView()), offsets,
                              b_.getDenseI64ArrayAttr(extents));
  };
  if (across && !interleave) {
    int64_t share = llvm::divideCeil(columns.count, blocks);
    return prefetch(k, add(column, multiplied(block, share)), share);
  }
  int64_t wide = interleave ? interleave : elementsPerLine(load);
  int64_t lines = llvm::divideCeil(columns.count, wide);
  int64_t share = llvm::divideCeil(kUnrollK * lines, blocks);
  for (int64_t j = 0; j < share; ++j) {
    Value line = add(multiplied(block, share), index(j));
    Value atK = b_.createOrFold<arith::RemUIOp>(loc_, divided(line, lines), index(kUnrollK));
    Value inRow = b_.createOrFold<arith::RemUIOp>(loc_, line, index(lines));
    prefetch(add(k, atK), add(column, multiplied(inRow, wide)), 1);
  }
}

// What a value is made of element by element, as read from views of two axes.
static SmallVector<tile::LoadOp> loadsBeside(Value value) {
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [](Operation *op) {
    return op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) &&
           (op->hasTrait<OpTrait::Elementwise>() || isa<tile::LoadOp>(op));
  };
  SetVector<Operation *> slice;
  (void)getBackwardSlice(value, &slice, options);
  SmallVector<tile::LoadOp> loads;
  for (Operation *op : slice)
    if (auto load = dyn_cast<tile::LoadOp>(op); load && load.getOffsets().size() == 2)
      loads.push_back(load);
  return loads;
}

// Before a block's K loop: the accumulators of the row block below, and in the last step, or where
// it is the only one, what this block's accumulators are stored to and what is added to them
// before.
void Blocker::prefetchAccumulators(tile::DotOp dot, Value into, const Columns &columns, Value row,
                                   int64_t rows) {
  auto prefetch = [&](Value memory, Value atRow, Value atColumn) {
    sched::PrefetchOp::create(b_, loc_, memory, ValueRange{atRow, atColumn},
                              b_.getDenseI64ArrayAttr({rows, columns.count}));
  };
  if (into)
    prefetch(into, add(row, index(rows)), columns.from);
  tile::StoreOp store = plainStoreOf(dot);
  if (!store)
    return;
  auto prefetchOf = [&](auto access) {
    prefetch(mapped(access.getView()), add(mapped(access.getOffsets()[0]), row),
             add(mapped(access.getOffsets()[1]), columns.from));
  };
  auto stored = [&] {
    prefetchOf(store);
    for (tile::LoadOp load : loadsBeside(store.getValue()))
      if (isPlain(load.getView(), load.getOffsets()))
        prefetchOf(load);
    return success();
  };
  (void)(into ? onlyIf(isLastTrip(loopAlongK(dot)), stored) : stored());
}

// Before a block's K loop: this panel's share of what the next step copies of a's rows.
void Blocker::prefetchRows(tile::DotOp dot, const Columns &columns, Value row, int64_t rows) {
  tile::LoadOp load = loadOf(dot.getA());
  scf::ForOp loop = loopAlong(dot, load, 1);
  if (!loop || isBlockTile(dot.getA()) || placement_.of(dot.getA()) != Place::Scratch)
    return;
  Value more, next = nextK(loop, more);
  int64_t depth = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  int64_t all = cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(1);
  Value share = divided(multiplied(columns.from, depth), all);
  sched::PrefetchOp::create(
      b_, loc_, mapped(load.getView()),
      ValueRange{add(mapped(load.getOffsets()[0]), row), add(next, share)},
      b_.getDenseI64ArrayAttr({rows, (depth * columns.count + all - 1) / all}));
}

// The prefetch distance of a matmul's packed weights, in bytes.
int64_t Blocker::prefetchOf(tile::DotOp dot) {
  return schedule_.prefetchBytes >= 0 ? schedule_.prefetchBytes : prefetchByRules(facts_, dot);
}

// A matmul of block formats prefetches the weights of a later trip, line by line between its
// groups; beyond the end of K those of the next columns. All lines at once would delay its own
// loads. Without prefetch the compute time of several rows adds to the memory time.
void Blocker::prefetch(tile::DotOp step, int64_t ahead) {
  const BlockFormat *format = tile::blockFormatOf(getElementTypeOrSelf(step.getB().getType()));
  if (!format)
    return; // emission refuses it
  int64_t trip = format->blockBytes * kInterleavedRows;
  step->setDiscardableAttr(kPrefetchDistance, b_.getI64IntegerAttr(llvm::alignTo(ahead, trip)));
}

// In every trip of a small-M matmul with unquantized weights: prefetches the weights of a later
// trip, beyond the end of K the first ones of the next columns.
void Blocker::prefetchStream(tile::DotOp dot, const Columns &columns, Value k, int64_t step) {
  tile::LoadOp load = loadOf(dot.getB());
  const int64_t bytes = prefetchOf(dot);
  if (!load || !dot.getTransposeB() || !load.getView().getType().getInterleave() || !bytes ||
      dequantizingOf(dot.getB()) || placement_.of(dot.getB()) == Place::Scratch)
    return;
  unsigned bits = load.getView().getType().getElementType().getIntOrFloatBitWidth();
  int64_t stepBytes = kInterleavedRows * step * bits / 8;
  Value ahead =
      add(add(mapped(load.getOffsets()[1]), k), index(llvm::divideCeil(bytes, stepBytes) * step));
  Value column = add(mapped(load.getOffsets()[0]), columns.from);
  auto prefetch = [&](Value atColumn, Value atK) {
    sched::PrefetchOp::create(b_, loc_, mapped(load.getView()), ValueRange{atColumn, atK},
                              b_.getDenseI64ArrayAttr({columns.count, step}));
  };
  if (columns.count <= kInterleavedRows)
    return prefetch(column, ahead);
  Value length = b_.createOrFold<tile::DimOp>(loc_, mapped(load.getView()), 1u);
  Value beyond = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::uge, ahead, length);
  Value around = b_.createOrFold<arith::SubIOp>(loc_, ahead, length);
  Value atK = arith::SelectOp::create(b_, loc_, beyond, around, ahead);
  Value beside = arith::SelectOp::create(b_, loc_, beyond, index(columns.count), index(0));
  prefetch(add(column, beside), atK);
}

// Before a block of rows multiplies by a panel of blocks: its share of what the panel beside
// expands. The last blocks of rows fetch: what the first ones did has left the second cache again
// where rows are long (1B Q6_K, K = 2048: expanding took 3.6 and 2.7 % of a matmul's time).
void Blocker::prefetchExpanded(tile::DotOp dot, const Columns &columns, Value row, int64_t rows) {
  int64_t depth = cast<RankedTensorType>(dot.getB().getType()).getDimSize(1);
  int64_t length = blockLengthOf(dot.getB());
  int64_t mostBlocks =
      std::max<int64_t>(1, cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(0) / rows);
  int64_t share = llvm::divideCeil(depth / length, mostBlocks) * length;
  Value rowsLeft = b_.createOrFold<arith::SubIOp>(loc_, rowLimit(dot), row);
  Value blocksLeft = b_.createOrFold<arith::CeilDivUIOp>(loc_, rowsLeft, index(rows));
  Value fetching = index(llvm::divideCeil(depth, share));
  Value first = multiplied(b_.createOrFold<arith::SubIOp>(loc_, fetching, blocksLeft), share);
  Value inside = // a block before those is before 0, beyond any end
      b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, first, groupsEnd(dot, depth));
  (void)onlyIf(inside, [&] {
    prefetchBlocks(dot, add(columns.from, index(columns.count)), columns.count, first, share);
    return success();
  });
}

// Blocks of a matmul's weights, from this column and this place along K.
void Blocker::prefetchBlocks(tile::DotOp dot, Value column, int64_t columns, Value k,
                             int64_t elements) {
  if (tile::LoadOp load = loadOf(dot.getB()))
    sched::PrefetchOp::create(
        b_, loc_, mapped(load.getView()),
        ValueRange{add(mapped(load.getOffsets()[0]), column), add(mapped(load.getOffsets()[1]), k)},
        b_.getDenseI64ArrayAttr({columns, elements}));
}

// In every trip of a block's K loop: its share of what the next panel packs.
void Blocker::prefetchNext(tile::DotOp dot, const Columns &columns, Value row, int64_t rows,
                           Value k) {
  scf::ForOp loop = loopAlongK(dot);
  // After the last step comes the next program's first one, and its columns lie beside.
  Value now = mapped(loop.getInductionVar()), more;
  Value next = nextK(loop, more);
  int64_t all = cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(1);
  Value beside = add(columns.from, index(columns.count));
  Value inside =
      b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, beside, index(all));
  Value first = arith::SelectOp::create(b_, loc_, more, index(0), beside);
  Value column = arith::SelectOp::create(b_, loc_, inside, beside, first);
  Value panelK = arith::SelectOp::create(b_, loc_, inside, now, next);
  prefetchPanel(dot, columns, row, rows, add(panelK, k), column);
}

// ---- pages: what the next matmul of a loop reads from elsewhere ----

// What a value is read from as it is, widened or reshaped; else null.
static tile::LoadOp readOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return load;
    if (!isa<arith::ExtFOp, tile::ReshapeOp, sched::PairOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

// The matmul after this one in the body around it; after the last one the first, in the next
// round.
static tile::DotOp nextDot(tile::DotOp dot, bool &nextQuantization) {
  nextQuantization = false;
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode())
    if (auto next = dyn_cast<tile::DotOp>(op))
      return next;
  nextQuantization = true;
  return *dot->getBlock()->getOps<tile::DotOp>().begin();
}

// A number as it will be in the loop's next round; null where it is not made from places alone.
Value Blocker::inNextQuantization(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return add(mapped(value), mapped(loop.getStep()));
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op))
    return available(value) ? mapped(value) : Value();
  if (!isa<tile::LoadScalarOp>(op) && !isa<arith::ArithDialect>(op->getDialect()))
    return {};
  IRMapping later;
  for (Value operand : op->getOperands()) {
    Value there = inNextQuantization(operand, loop);
    if (!there)
      return {};
    later.map(operand, there);
  }
  return b_.clone(*op, later)->getResult(0);
}

// In every trip of a small-M matmul: prefetches a share of what the next matmul reads. A GEMV is
// too short to hide memory latency, and hardware does not prefetch the next page.
void Blocker::prefetchNextMatmul(tile::DotOp dot, const Columns &columns, Value trip,
                                 int64_t trips) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || loopAlongK(dot))
    return;
  bool nextQuantization;
  tile::LoadOp load = readOf(nextDot(dot, nextQuantization).getB());
  if (!load || load.getView().getType().getRank() < 2 || !available(load.getView()))
    return;
  SmallVector<Value> offsets;
  for (Value offset : load.getOffsets())
    if (Value at = nextQuantization    ? inNextQuantization(offset, loop)
                   : available(offset) ? mapped(offset)
                                       : Value())
      offsets.push_back(at);
  SmallVector<int64_t> extents(cast<RankedTensorType>(load.getType()).getShape());
  if (offsets.size() != extents.size())
    return;
  int64_t parts = cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(1) / columns.count;
  size_t axis = extents.size() - 2;
  int64_t share = llvm::divideCeil(extents[axis], trips * std::max<int64_t>(1, parts));
  extents[axis] = share;
  Value part = add(multiplied(divided(columns.from, columns.count), trips), trip);
  offsets[axis] = add(offsets[axis], multiplied(part, share));
  sched::PrefetchOp::create(b_, loc_, mapped(load.getView()), offsets,
                            b_.getDenseI64ArrayAttr(extents));
}

} // namespace sinter::targets::cpu
