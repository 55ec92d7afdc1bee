// What a kernel may do before the launches before it have ended, and where it waits for them.
#include "tile/mlir_pch.h"

#include "sched/simt/overlap_launches.h"

using namespace mlir;

namespace sinter::sched {

static Value argumentOf(Value view) {
  while (Operation *op = view.getDefiningOp())
    view = op->getOperand(0); // a window or a gather of another view
  return view;
}

bool isConstant(Value view) {
  auto argument = dyn_cast<BlockArgument>(argumentOf(view));
  auto kernel = argument ? dyn_cast<tile::KernelOp>(argument.getOwner()->getParentOp()) : nullptr;
  return kernel && tile::isConstant(kernel, argument.getArgNumber());
}

// The view that a load reads; null for other operations.
static Value loadedView(Operation &op) {
  return llvm::TypeSwitch<Operation *, Value>(&op)
      .Case<tile::LoadOp, tile::LoadScalarOp, BlockLoadOp>([](auto load) { return load.getView(); })
      .Default([](Operation *) { return Value(); });
}

static bool isConstantLoad(Operation &op) {
  Value view = loadedView(op);
  return view && isConstant(view);
}

// Whether the operation neither writes nor reads what launches write.
static bool isEarly(Operation &op) {
  if (Value view = loadedView(op))
    return isConstant(view);
  return isa<tile::GridOp, scf::YieldOp>(op) ||
         (op.getNumRegions() == 0 && isMemoryEffectFree(&op));
}

// Scalars that `op` needs and that can be computed before `place`, with itself; false where one
// cannot.
static bool gather(Operation *op, Operation *place, SetVector<Operation *> &moved) {
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || maker->getBlock() != place->getBlock() || maker->isBeforeInBlock(place) ||
        moved.contains(maker))
      continue;
    if (isa<RankedTensorType>(operand.getType()) || maker->getNumRegions() ||
        !isMemoryEffectFree(maker) || !gather(maker, place, moved))
      return false;
  }
  moved.insert(op);
  return true;
}

void overlapLaunches(tile::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *first = nullptr;
  for (Operation &op : body)
    if (!isEarly(op)) {
      first = &op;
      break;
    }
  if (!first)
    return; // it ends without a trace
  OpBuilder b(first);
  Operation *wait = AwaitLaunchesOp::create(b, kernel.getLoc());
  SmallVector<Operation *> loads;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode())
    if (isConstantLoad(*op))
      loads.push_back(op);
  for (Operation *load : loads) {
    SetVector<Operation *> moved;
    if (gather(load, wait, moved))
      for (Operation *op : moved)
        op->moveBefore(wait);
  }
}

} // namespace sinter::sched
