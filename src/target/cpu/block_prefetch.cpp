// Blocking, prefetches: while a product multiplies one panel, every trip of its K loop asks for a
// few lines of what the next panel and the next step of K copy into scratch.
#include "target/cpu/blocker.h"

using namespace mlir;

namespace sinter::target::cpu {

// The loop whose steps walk K in a load of this value, where it is the dot's own.
static scf::ForOp loopAlong(tile::DotOp dot, tile::LoadOp load, unsigned axis) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  bool walks = loop && load && load.getOffsets()[axis] == loop.getInductionVar();
  bool plain = load && !load.getView().getType().getStrided() &&
               !load.getView().getDefiningOp<tile::GatherOp>();
  return walks && plain ? loop : scf::ForOp();
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

// The store that a loop's tile ends in, element by element.
static tile::StoreOp storeOf(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (auto store = dyn_cast<tile::StoreOp>(user))
      return store.getValue() == value ? store : tile::StoreOp();
    if (user->getNumResults() != 1 || user->getResult(0).getType() != value.getType() ||
        !user->hasTrait<OpTrait::Elementwise>())
      return {};
    value = user->getResult(0);
  }
  return {};
}

static tile::StoreOp storeOf(tile::DotOp dot) {
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [yielded, result] : llvm::zip_equal(yield.getOperands(), loop.getResults()))
    if (yielded == dot.getResult())
      return storeOf(result);
  return {};
}

// Line number `line` of a block, counted along its rows; beyond the block its last row's lines.
void Blocker::prefetchLine(Value memory, Type element, Value line, Value row, int64_t rows,
                           Value column, int64_t columns) {
  int64_t wide = kLineBytes * 8 / element.getIntOrFloatBitWidth();
  int64_t lines = llvm::divideCeil(columns, wide);
  Value inRow = b_.createOrFold<arith::RemUIOp>(loc_, line, index(lines));
  Value inBlock = b_.createOrFold<arith::MinSIOp>(loc_, divided(line, lines), index(rows - 1));
  sched::PrefetchOp::create(b_, loc_, memory,
                            ValueRange{add(row, inBlock), add(column, multiplied(inRow, wide))},
                            b_.getDenseI64ArrayAttr({1, 1}));
}

// A line a trip: of the sums of the row block below, and in the last step of what this block's sums
// are stored to.
void Blocker::prefetchSums(tile::DotOp dot, Value into, const Columns &columns, Value row,
                           int64_t rows, Value k) {
  Value trip = divided(k, kUnrollK);
  auto type = cast<sched::BufferType>(into.getType());
  prefetchLine(into, type.getElementType(), trip, add(row, index(rows)), rows, columns.from,
               columns.count);
  tile::StoreOp store = storeOf(dot);
  bool plain = store && available(store.getView()) &&
               llvm::all_of(store.getOffsets(), [&](Value v) { return available(v); });
  if (!plain || isa<tile::BlockType>(store.getView().getType().getElementType()) ||
      store.getView().getDefiningOp<tile::GatherOp>())
    return;
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  Value after = add(mapped(loop.getInductionVar()), mapped(loop.getStep()));
  Value more = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::slt, after,
                                              mapped(loop.getUpperBound()));
  Value line = arith::SelectOp::create(b_, loc_, more, index(0), trip);
  prefetchLine(mapped(store.getView()), store.getView().getType().getElementType(), line,
               add(mapped(store.getOffsets()[0]), row), rows,
               add(mapped(store.getOffsets()[1]), columns.from), columns.count);
}

void Blocker::prefetchNext(tile::DotOp dot, Value into, const Columns &columns, Value row,
                           int64_t rows, Value k) {
  scf::ForOp loop = loopAlong(dot, loadOf(dot.getB()), dot.getTransposeB() ? 1 : 0);
  if (!loop)
    return;
  // After the last step comes the next program's first one, and its columns lie beside.
  Value now = mapped(loop.getInductionVar());
  Value after = add(now, mapped(loop.getStep()));
  Value more = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::slt, after,
                                              mapped(loop.getUpperBound()));
  Value next = arith::SelectOp::create(b_, loc_, more, after, mapped(loop.getLowerBound()));
  int64_t all = cast<RankedTensorType>(dot.getAcc().getType()).getDimSize(1);
  Value beside = add(columns.from, index(columns.count));
  Value inside =
      b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, beside, index(all));
  Value first = arith::SelectOp::create(b_, loc_, more, index(0), beside);
  Value column = arith::SelectOp::create(b_, loc_, inside, beside, first);
  Value panelK = arith::SelectOp::create(b_, loc_, inside, now, next);
  prefetchPanel(dot, columns, row, rows, add(panelK, k), column);
  prefetchSums(dot, into, columns, row, rows, k);
}

} // namespace sinter::target::cpu
