// The backward demand analysis: a fixpoint over the kernel in reverse program order.
#include "tile/mlir_pch.h"

#include "targets/cpu/blocking/demand.h"

using namespace mlir;

namespace sinter::targets::cpu {

// Of one axis: finding the furthest costs a few instructions for each.
static constexpr size_t kMostEdges = 6;

DemandAnalysis::DemandAnalysis(tile::KernelOp kernel) {
  SmallVector<Operation *> order;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { order.push_back(op); });
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : llvm::reverse(order))
      changed |= visit(op);
  }
}

Demand DemandAnalysis::of(Value value, int64_t axis) const {
  auto it = demands_.find(value);
  if (it == demands_.end() || it->second[axis].kind == Demand::None)
    return {Demand::Full};
  return it->second[axis];
}

bool DemandAnalysis::merge(Value value, int64_t axis, Demand demand) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || demand.kind == Demand::None)
    return false;
  auto &axes = demands_[value];
  axes.resize(type.getRank());
  Demand &mine = axes[axis];
  if (mine.kind == Demand::Full)
    return false;
  if (mine.kind == Demand::None || demand.kind == Demand::Full) {
    mine = demand;
    return true;
  }
  bool changed = false;
  for (const Edge &edge : demand.edges)
    if (!llvm::is_contained(mine.edges, edge)) {
      mine.edges.push_back(edge);
      changed = true;
    }
  if (mine.edges.size() > kMostEdges)
    mine = {Demand::Full};
  return changed;
}

bool DemandAnalysis::mergeFull(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  bool changed = false;
  for (int64_t axis = 0; type && axis < type.getRank(); ++axis)
    changed |= merge(value, axis, {Demand::Full});
  return changed;
}

// `to` is needed wherever `from` is; extents of 1 are needed whole.
bool DemandAnalysis::mergeAll(Value from, Value to) {
  auto a = dyn_cast<RankedTensorType>(from.getType()), b = dyn_cast<RankedTensorType>(to.getType());
  if (!a || !b)
    return false;
  if (a.getRank() != b.getRank())
    return mergeFull(to);
  auto it = demands_.find(from);
  if (it == demands_.end())
    return false;
  SmallVector<Demand> axes = it->second;
  bool changed = false;
  for (int64_t axis = 0; axis < b.getRank(); ++axis)
    changed |= merge(to, axis,
                     b.getDimSize(axis) == a.getDimSize(axis) ? axes[axis] : Demand{Demand::Full});
  return changed;
}

bool DemandAnalysis::visitStore(tile::StoreOp store) {
  bool changed = false;
  for (auto [axis, offset] : llvm::enumerate(store.getOffsets()))
    changed |= merge(store.getValue(), axis,
                     {Demand::Edges, {{store.getView(), offset, static_cast<int64_t>(axis)}}});
  return changed;
}

bool DemandAnalysis::visitDot(tile::DotOp dot) {
  bool changed = mergeAll(dot.getResult(), dot.getAcc());
  auto it = demands_.find(dot.getResult());
  if (it == demands_.end())
    return changed;
  SmallVector<Demand> axes = it->second;
  int64_t nAxis = dot.getTransposeB() ? 0 : 1;
  Demand full{Demand::Full};
  changed |= merge(dot.getA(), 0, axes[0]);
  changed |= merge(dot.getA(), 1, full);
  changed |= merge(dot.getB(), nAxis, axes[1]);
  changed |= merge(dot.getB(), 1 - nAxis, full);
  return changed;
}

bool DemandAnalysis::visitReduce(tile::ReduceOp reduce) {
  auto it = demands_.find(reduce.getResult());
  if (it == demands_.end())
    return false;
  SmallVector<Demand> axes = it->second;
  bool changed = false;
  for (auto [axis, demand] : llvm::enumerate(axes))
    changed |=
        merge(reduce.getValue(), axis, axis == reduce.getAxis() ? Demand{Demand::Full} : demand);
  return changed;
}

// Elements that only move: a leading axis that keeps its extent keeps its coordinates too.
bool DemandAnalysis::visitMove(Operation *op) {
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  auto it = demands_.find(op->getResult(0));
  if (it == demands_.end())
    return false;
  Demand rows = it->second[0], full{Demand::Full};
  bool changed = false;
  for (Value from : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(from.getType());
    if (!type)
      continue;
    bool keeps = !isa<tile::PermuteOp>(op) && type.getDimSize(0) == to.getDimSize(0);
    changed |= merge(from, 0, keeps ? rows : full);
    for (int64_t axis = 1; axis < type.getRank(); ++axis)
      changed |= merge(from, axis, full);
  }
  return changed;
}

bool DemandAnalysis::visitLoop(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  bool changed = false;
  if (!loop) {
    for (Value operand : op->getOperands())
      changed |= mergeFull(operand);
    return changed;
  }
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [i, arg] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value result = loop.getResult(i), init = loop.getInitArgs()[i], next = yield.getOperand(i);
    for (Value to : {Value(arg), next, init})
      changed |= mergeAll(result, to);
    for (Value to : {next, init})
      changed |= mergeAll(arg, to);
  }
  return changed;
}

bool DemandAnalysis::visit(Operation *op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return visitStore(store);
  if (auto dot = dyn_cast<tile::DotOp>(op))
    return visitDot(dot);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return visitReduce(reduce);
  if (isa<scf::YieldOp>(op) && isa<scf::ForOp>(op->getParentOp()))
    return false;
  if (op->getNumRegions() || isa<scf::YieldOp>(op))
    return visitLoop(op);
  if (isa<tile::PermuteOp, tile::SliceOp, tile::ConcatOp, tile::ReshapeOp>(op))
    return visitMove(op);
  bool changed = false;
  for (Value result : op->getResults())
    for (Value operand : op->getOperands())
      changed |= mergeAll(result, operand);
  return changed;
}

} // namespace sinter::targets::cpu
