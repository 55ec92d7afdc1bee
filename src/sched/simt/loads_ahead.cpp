// What a load's place needs is followed through the loop's body.
#include "sched/simt/loads_ahead.h"
#include "sched/simt/overlap_launches.h"

using namespace mlir;

namespace sinter::sched {

// Operations of `block` that `value` needs, in order; false where one depends on the block's other
// arguments than its first, or on memory.
static bool gather(Value value, Block *block, SetVector<Operation *> &needed) {
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

LoadsAhead loadsAhead(scf::ForOp loop) {
  LoadsAhead ahead;
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

Value isBelow(OpBuilder &b, Location loc, Value at, Value end) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, at, end);
}

// Operations that `value` needs and that lie behind `place`; false where one reads memory.
static bool gatherBehind(Value value, Operation *place, SetVector<Operation *> &needed) {
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

bool makeBefore(ValueRange values, Operation *place) {
  SetVector<Operation *> needed;
  if (!llvm::all_of(values, [&](Value value) { return gatherBehind(value, place, needed); }))
    return false;
  for (Operation *op : needed)
    op->moveBefore(place);
  return true;
}

} // namespace sinter::sched
