// Distribution: what a matmul of few rows computes of its left operand is computed register by
// register where it multiplies, since threads could not hold all of it beside weights.
#include "sched/simt/distribute/distributor.h"

using namespace mlir;

namespace sinter::sched {

static bool isElementwise(Operation *op) {
  return isa<arith::ArithDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         op->getNumOperands() > 0;
}

// Notes the loads, broadcasts and elementwise work in the block of `user` that it alone needs.
static void gatherInTurn(Operation *user, Value tile, llvm::DenseSet<Operation *> &found) {
  SmallVector<std::pair<Operation *, Value>> left{{user, tile}};
  while (!left.empty()) {
    auto [reader, value] = left.pop_back_val();
    Operation *maker = value.getDefiningOp();
    if (!maker || !isa<RankedTensorType>(value.getType()) || !value.hasOneUse() ||
        maker->getBlock() != user->getBlock() ||
        !(isa<tile::LoadOp, tile::BroadcastOp>(maker) || isElementwise(maker)))
      continue;
    found.insert(maker);
    if (!isa<tile::LoadOp>(maker))
      for (Value operand : maker->getOperands())
        left.push_back({maker, operand});
  }
}

void Distributor::chooseInTurn() {
  kernel_.walk([&](Operation *op) {
    if (!isa<SplitDotOp, GroupDotOp>(op))
      return;
    Value left = op->getOperand(0);
    if (Operation *maker = left.getDefiningOp(); maker && isElementwise(maker))
      gatherInTurn(op, left, inTurn_);
  });
}

Value Distributor::computedAt(InTurn &made, Value tile, int64_t number) {
  if (auto found = registers_.find(tile); found != registers_.end())
    return found->second[number];
  const std::pair<Value, int64_t> key{tile, number};
  if (Value known = made.values.lookup(key))
    return known;
  Operation *maker = tile.getDefiningOp();
  if (auto load = dyn_cast<tile::LoadOp>(maker)) {
    TileLoad &loaded = made.loads.try_emplace(maker, loadOf(load)).first->second;
    if (!loaded.registers[number])
      loadPiece(loaded, number / loaded.access.vector * loaded.access.vector);
    return loaded.registers[number];
  }
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(maker))
    return computedAt(made, broadcast.getValue(), registerBelow(broadcast, number));
  SmallVector<Value> operands;
  for (Value operand : maker->getOperands())
    operands.push_back(computedAt(made, operand, number));
  return made.values[key] = elementOf(maker, operands);
}

} // namespace sinter::sched
