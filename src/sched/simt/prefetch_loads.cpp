// Loads and what they need are cloned for another value of the counter; loaded words go around.
#include "sched/simt/prefetch_loads.h"
#include "sched/simt/decisions.h"
#include "sched/simt/overlap_launches.h"

#include "mlir/Dialect/SCF/Utils/Utils.h"

using namespace mlir;

namespace sinter::sched {
namespace {

// Whether the loop writes to no view. What other loads than those of constants read may change.
bool onlyLoads(scf::ForOp loop) {
  return llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
    return isa<ViewLoadOp, MatrixOp, CopyAsyncOp, CopyCommitOp, CopyWaitOp, BarrierOp, SharedLoadOp,
               SharedStoreOp, SharedMatricesOp, MatrixFenceOp, MatrixAsyncOp, MatrixTileAsyncOp,
               MatrixWaitOp, PinOp, AccAddOp>(op) ||
           isMemoryEffectFree(&op);
  });
}

// Operations of `block` that `value` needs, in order; false where one depends on the block's other
// arguments than its first, or on memory.
bool gather(Value value, Block *block, SetVector<Operation *> &needed) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() != block || argument.getArgNumber() == 0;
  Operation *maker = value.getDefiningOp();
  if (maker->getBlock() != block || needed.contains(maker))
    return true;
  if (maker->getNumRegions() || !isMemoryEffectFree(maker))
    return false;
  for (Value operand : maker->getOperands())
    if (!gather(operand, block, needed))
      return false;
  needed.insert(maker);
  return true;
}

struct Ahead {
  SmallVector<ViewLoadOp> loads;
  SetVector<Operation *> needed;
};

Ahead collect(scf::ForOp loop) {
  Ahead ahead;
  for (auto load : loop.getBody()->getOps<ViewLoadOp>()) {
    if (!isConstant(load.getView()))
      continue;
    SetVector<Operation *> needed = ahead.needed;
    bool movable = llvm::all_of(load->getOperands(), [&](Value operand) {
      return gather(operand, loop.getBody(), needed);
    });
    if (!movable)
      continue;
    ahead.needed = std::move(needed);
    ahead.loads.push_back(load);
  }
  return ahead;
}

// The loads for the counter `at`, none where not `when` (null: always).
SmallVector<Value> loadsFor(OpBuilder &b, scf::ForOp loop, const Ahead &ahead, Value at,
                            Value when) {
  IRMapping map;
  map.map(loop.getInductionVar(), at);
  for (Operation *op : ahead.needed)
    b.clone(*op, map);
  SmallVector<Value> values;
  for (ViewLoadOp load : ahead.loads) {
    auto clone = cast<ViewLoadOp>(b.clone(*load, map));
    values.push_back(clone);
    if (!when)
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(clone);
    clone.getWhenMutable().assign(
        b.createOrFold<arith::AndIOp>(load.getLoc(), clone.getWhen(), when));
  }
  return values;
}

Value isBelow(OpBuilder &b, Location loc, Value at, Value end) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, at, end);
}

void readAhead(scf::ForOp loop, const SimtFacts &facts) {
  const Ahead ahead = collect(loop);
  if (ahead.loads.empty())
    return;
  Location loc = loop.getLoc();
  IRRewriter b(loop);
  SmallVector<Value> first = loadsFor(b, loop, ahead, loop.getLowerBound(),
                                      isBelow(b, loc, loop.getLowerBound(), loop.getUpperBound()));
  b.setInsertionPointToStart(loop.getBody());
  Value next = arith::AddIOp::create(b, loc, loop.getInductionVar(), loop.getStep());
  Value isNext = isBelow(b, loc, next, loop.getUpperBound());
  if (facts.selectsAddresses)
    next = arith::SelectOp::create(b, loc, isNext, next, loop.getInductionVar());
  SmallVector<Value> later =
      loadsFor(b, loop, ahead, next, facts.selectsAddresses ? Value() : isNext);
  SmallVector<ViewLoadOp> loads = ahead.loads;
  auto yields = [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return later; };
  FailureOr<LoopLikeOpInterface> made =
      loop.replaceWithAdditionalYields(b, first, /*replaceInitOperandUsesInLoop=*/false, yields);
  if (failed(made))
    return;
  auto carried = (*made).getRegionIterArgs().take_back(first.size());
  for (auto [load, word] : llvm::zip_equal(loads, carried)) {
    load.getResult().replaceAllUsesWith(word);
    load.erase();
  }
}

// ---- what may begin before the launches before it have ended ----

// Operations that `value` needs and that lie behind `place`; false where one reads memory.
bool gatherBehind(Value value, Operation *place, SetVector<Operation *> &needed) {
  Operation *maker = value.getDefiningOp();
  if (!maker || maker->getBlock() != place->getBlock() || maker->isBeforeInBlock(place) ||
      needed.contains(maker))
    return true;
  if (maker->getNumRegions() || !isMemoryEffectFree(maker))
    return false;
  for (Value operand : maker->getOperands())
    if (!gatherBehind(operand, place, needed))
      return false;
  needed.insert(maker);
  return true;
}

void hoistConstantLoads(AwaitLaunchesOp wait) {
  SmallVector<ViewLoadOp> loads;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode())
    if (auto load = dyn_cast<ViewLoadOp>(op); load && isConstant(load.getView()))
      loads.push_back(load);
  for (ViewLoadOp load : loads) {
    SetVector<Operation *> needed;
    bool movable = llvm::all_of(load->getOperands(),
                                [&](Value operand) { return gatherBehind(operand, wait, needed); });
    if (!movable)
      continue;
    for (Operation *op : needed)
      op->moveBefore(wait);
    load->moveBefore(wait);
  }
}

// 32-bit registers of a value.
int64_t registersOf(Type type) {
  constexpr int64_t kRegisterBits = 32;
  Type element = getElementTypeOrSelf(type);
  auto vector = dyn_cast<VectorType>(type);
  const int64_t bits = element.isIndex() ? 2 * kRegisterBits : element.getIntOrFloatBitWidth();
  return llvm::divideCeil((vector ? vector.getNumElements() : 1) * bits, kRegisterBits);
}

// Whether a third of a thread's registers holds what a loop's copies load (tiles of 64 x 64, 32 and
// 16 for 128 threads, 8 steps ahead, by ptxas for sm_90a: 80 such words of Q4_K are 0 bytes of
// spills, 72 of Q8_0 are 22, 112 of Q5_K 120, 120 of Q6_K 548).
bool holdsCopies(scf::ForOp loop, int64_t copies, const SimtFacts &facts) {
  int64_t words = 0;
  for (ViewLoadOp load : collect(loop).loads)
    words += registersOf(load.getResult().getType());
  return 3 * copies * words <= facts.maxRegisters;
}

// Copies of a loop's body one after another, so that what each of them loads is loaded for all of
// them before the first: as many as `most` where they come out even and registers hold what they
// load, and no whole loop.
scf::ForOp unrolled(scf::ForOp loop, int64_t most, const SimtFacts &facts) {
  const std::optional<llvm::APInt> trips = loop.getStaticTripCount();
  const int64_t steps = trips ? trips->getSExtValue() : 0;
  int64_t copies = most;
  while (copies > 1 &&
         (steps <= copies || steps % copies != 0 || !holdsCopies(loop, copies, facts)))
    copies /= 2;
  if (copies <= 1)
    return loop;
  FailureOr<UnrolledLoopInfo> made = loopUnrollByFactor(loop, static_cast<uint64_t>(copies));
  return succeeded(made) && made->mainLoopOp ? *made->mainLoopOp : loop;
}

} // namespace

void prefetchLoads(tile::KernelOp kernel, const SimtFacts &facts) {
  if (!kernel->hasAttr(kReadsAhead))
    return;
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (onlyLoads(loop))
      loops.push_back(loop);
  });
  const int64_t stepsAhead = decisionOf(kernel, kStepsAhead, 1);
  for (scf::ForOp loop : loops)
    readAhead(unrolled(loop, stepsAhead, facts), facts);
  SmallVector<AwaitLaunchesOp> waits;
  kernel.walk([&](AwaitLaunchesOp wait) { waits.push_back(wait); });
  for (AwaitLaunchesOp wait : waits)
    hoistConstantLoads(wait);
}

} // namespace sinter::sched
