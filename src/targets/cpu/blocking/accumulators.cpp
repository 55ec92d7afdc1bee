// Blocking, accumulators: those of a matmul, or of a loop's, begin and end in registers, so that
// no step only fills or copies scratch.
#include "targets/cpu/blocking/blocker.h"

using namespace mlir;

namespace sinter::targets::cpu {

// Arithmetic on a block of accumulators beyond which it is better done row by row.
static constexpr int64_t kMostEndCost = 3;

// The dot that adds to this tile of the loop itself; else null.
static tile::DotOp sumOf(scf::ForOp loop, unsigned index) {
  Value arg = loop.getRegionIterArg(index);
  if (!isa<RankedTensorType>(arg.getType()) || !arg.hasOneUse())
    return {};
  auto dot = dyn_cast<tile::DotOp>(*arg.user_begin());
  bool whole = dot && dot.getAcc() == arg && dot->getBlock() == loop.getBody() &&
               dot.getResult().hasOneUse();
  return whole && loop.getBody()->getTerminator()->getOperand(index) == dot.getResult()
             ? dot
             : tile::DotOp();
}

static bool isUniform(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return (dense && dense.isSplat()) || value.getDefiningOp<tile::SplatOp>();
}

bool Blocker::beginsInRegisters(scf::ForOp loop, unsigned index) {
  return sumOf(loop, index) && isUniform(loop.getInitArgs()[index]);
}

// The loop's tile that the dot adds to in registers; none where it has no such loop.
static std::optional<unsigned> tileOfLoop(tile::DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  for (unsigned i = 0; loop && i < loop.getNumRegionIterArgs(); ++i)
    if (sumOf(loop, i) == dot)
      return i;
  return std::nullopt;
}

Value Blocker::hasNoTrips(scf::ForOp loop) {
  return b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::sge,
                                        mapped(loop.getLowerBound()), mapped(loop.getUpperBound()));
}

LogicalResult Blocker::onlyIf(Value condition, llvm::function_ref<LogicalResult()> body) {
  auto branch = scf::IfOp::create(b_, loc_, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  return body();
}

FailureOr<Value> Blocker::accumulatorsBefore(tile::DotOp dot, const Block &block) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  std::optional<unsigned> tile = tileOfLoop(dot);
  if (!tile || !beginsInRegisters(loop, *tile))
    return stream(dot.getAcc(), block);
  Value first = b_.createOrFold<arith::CmpIOp>(
      loc_, arith::CmpIPredicate::eq, mapped(loop.getInductionVar()), mapped(loop.getLowerBound()));
  Type type = RankedTensorType::get(
      block.shape, cast<RankedTensorType>(dot.getAcc().getType()).getElementType());
  auto branch = scf::IfOp::create(b_, loc_, type, first, /*withElseRegion=*/true);
  Value from[] = {loop.getInitArgs()[*tile], dot.getAcc()};
  for (auto [region, value] : llvm::zip_equal(branch->getRegions(), from)) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&region.front());
    FailureOr<Value> accumulators = stream(value, block);
    if (failed(accumulators))
      return failure();
    scf::YieldOp::create(b_, loc_, *accumulators);
  }
  return branch.getResult(0);
}

// The store that a loop's tile ends in, element by element.
static tile::StoreOp storeOf(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (auto store = dyn_cast<tile::StoreOp>(user))
      return store.getValue() == value ? store : tile::StoreOp();
    if (user->getNumResults() != 1 || !user->hasTrait<OpTrait::Elementwise>())
      return {};
    auto type = dyn_cast<RankedTensorType>(user->getResult(0).getType());
    if (!type || type.getShape() != cast<RankedTensorType>(value.getType()).getShape())
      return {};
    value = user->getResult(0);
  }
  return {};
}

tile::StoreOp Blocker::plainStoreOf(tile::DotOp dot) {
  tile::StoreOp store = storeOf(dot.getResult());
  if (auto loop = dyn_cast<scf::ForOp>(dot->getParentOp()))
    for (auto [yielded, result] :
         llvm::zip_equal(loop.getBody()->getTerminator()->getOperands(), loop.getResults()))
      if (yielded == dot.getResult())
        store = storeOf(result);
  return store && isPlain(store.getView(), store.getOffsets()) ? store : tile::StoreOp();
}

bool Blocker::isPlain(TypedValue<tile::ViewType> view, ValueRange offsets) {
  return !isa<tile::BlockType>(view.getType().getElementType()) &&
         !view.getDefiningOp<tile::GatherOp>() && available(view) &&
         llvm::all_of(offsets, [&](Value v) { return available(v); });
}

static bool isCheap(Operation *op) {
  return isa<math::FmaOp, math::AbsFOp>(op) ||
         (isa_and_nonnull<arith::ArithDialect>(op->getDialect()) && !isa<arith::DivFOp>(op));
}

// Whether blocks of the value, but for `accumulators`, can be had inside the loop that makes
// `accumulators`; counts its arithmetic. What else that loop makes is not there before its end.
bool Blocker::streamsBeside(Value value, Value accumulators, int64_t &cost) {
  if (value == accumulators)
    return true;
  if (value.getDefiningOp() && value.getDefiningOp() == accumulators.getDefiningOp())
    return false;
  if (scratch_.count(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!isa<RankedTensorType>(value.getType()))
    return available(value);
  if (!op || !isStreamable(op) || placement_.of(value) != Place::Stream)
    return false;
  if (op->hasTrait<OpTrait::Elementwise>())
    cost += isCheap(op) ? 1 : kMostEndCost + 1;
  if (cost > kMostEndCost)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isa<tile::ViewType>(operand.getType()) ? available(operand)
                                                  : streamsBeside(operand, accumulators, cost);
  });
}

// A store right after the matmul, or after the loop that carries its accumulators, which takes
// them as they end, through a little arithmetic.
tile::StoreOp Blocker::storeOfAccumulators(tile::DotOp dot) {
  std::optional<unsigned> tile = tileOfLoop(dot);
  Operation *end = tile ? dot->getParentOp() : dot;
  tile::StoreOp store = plainStoreOf(dot);
  if (!store || store->getBlock() != end->getBlock())
    return {};
  for (Operation *op = end->getNextNode(); op != store; op = op->getNextNode())
    if (op->getNumRegions() || isa<tile::StoreOp>(op))
      return {};
  int64_t cost = 0;
  return streamsBeside(store.getValue(), end->getResult(tile.value_or(0)), cost) ? store
                                                                                 : tile::StoreOp();
}

bool Blocker::needsScratch(tile::DotOp dot) {
  return tileOfLoop(dot) || !storeOfAccumulators(dot);
}

Value Blocker::isLastTrip(scf::ForOp loop) {
  Value after = add(mapped(loop.getInductionVar()), mapped(loop.getStep()));
  return b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::sge, after,
                                        mapped(loop.getUpperBound()));
}

LogicalResult Blocker::accumulatorsAfter(tile::DotOp dot, Value accumulators, Value into,
                                         const Block &block) {
  tile::StoreOp store = storeOfAccumulators(dot);
  if (!store) {
    write(accumulators, into, block.offsets);
    return success();
  }
  std::optional<unsigned> tile = tileOfLoop(dot);
  if (!tile) {
    storedBefore_[store] = {};
    remember(dot.getResult(), block, accumulators);
    return storeBlock(store, block);
  }
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  storedBefore_[store] = loop;
  auto branch = scf::IfOp::create(b_, loc_, isLastTrip(loop), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.elseBlock());
  write(accumulators, into, block.offsets);
  b_.setInsertionPointToStart(branch.thenBlock());
  remember(loop.getResult(*tile), block, accumulators);
  return storeBlock(store, block);
}

} // namespace sinter::targets::cpu
