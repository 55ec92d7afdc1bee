// Loads and what they need are cloned for another value of the counter; loaded words go around.
#include "sched/simt/prefetch_loads.h"
#include "sched/simt/copy_words.h"
#include "sched/simt/decisions.h"
#include "sched/simt/layout.h"
#include "sched/simt/loads_ahead.h"
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

// The loads for the counter `at`, none where not `when` (null: always).
SmallVector<Value> loadsFor(OpBuilder &b, scf::ForOp loop, const LoadsAhead &ahead, Value at,
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

void readAhead(scf::ForOp loop, const SimtFacts &facts) {
  const LoadsAhead ahead = loadsAhead(loop);
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

void hoistConstantLoads(AwaitLaunchesOp wait) {
  SmallVector<ViewLoadOp> loads;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode())
    if (auto load = dyn_cast<ViewLoadOp>(op); load && isConstant(load.getView()))
      loads.push_back(load);
  for (ViewLoadOp load : loads)
    if (makeBefore(load->getOperands(), wait))
      load->moveBefore(wait);
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
  for (ViewLoadOp load : loadsAhead(loop).loads)
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
  constexpr int64_t kAlignment = 16;
  const bool copies = facts.asyncCopies && decisionOf(kernel, kCopiesWords, 0) > 0;
  const int64_t shared = llvm::alignTo(
      copies ? kernel->getAttrOfType<IntegerAttr>(kSharedName).getInt() : 0, kAlignment);
  for (scf::ForOp loop : loops)
    if (!copies || !copyWords(kernel, loop, shared, facts))
      readAhead(unrolled(loop, stepsAhead, facts), facts);
  SmallVector<AwaitLaunchesOp> waits;
  kernel.walk([&](AwaitLaunchesOp wait) { waits.push_back(wait); });
  for (AwaitLaunchesOp wait : waits)
    hoistConstantLoads(wait);
}

} // namespace sinter::sched
