// One block after the other, loads in their order.
#include "sched/simt/hoist_loads.h"

using namespace mlir;

namespace sinter::sched {

// The operation that `load` can follow; null for the start of its block.
static Operation *latestOperand(tile::LoadOp load) {
  Operation *latest = nullptr;
  for (Value operand : load->getOperands()) {
    Operation *op = operand.getDefiningOp();
    if (op && op->getBlock() == load->getBlock() && (!latest || latest->isBeforeInBlock(op)))
      latest = op;
  }
  return latest;
}

static void hoistIn(Block &block, int64_t mostElements) {
  int64_t early = 0;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto load = dyn_cast<tile::LoadOp>(op);
    if (!load || load.getView().getType().isWritable())
      continue;
    early += cast<RankedTensorType>(load.getResult().getType()).getNumElements();
    if (early > mostElements)
      return;
    if (Operation *latest = latestOperand(load))
      load->moveAfter(latest);
    else
      load->moveBefore(&block.front());
  }
}

void hoistLoads(tile::KernelOp kernel, int64_t threads, int64_t mostElements) {
  kernel.walk([&](Block *block) { hoistIn(*block, mostElements * threads); });
}

} // namespace sinter::sched
