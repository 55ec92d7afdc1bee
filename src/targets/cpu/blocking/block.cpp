// Blocking, the walk: scalars are cloned, streamed values wait for their readers, stores become
// loops over register tiles.
#include "targets/cpu/blocking/blocker.h"

#include "targets/cpu/blocking/block.h"

using namespace mlir;

namespace sinter::targets::cpu {

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

Value Blocker::index(int64_t value) {
  return arith::ConstantIndexOp::create(b_, loc_, value);
}

Value Blocker::add(Value a, Value b) {
  return b_.createOrFold<arith::AddIOp>(loc_, a, b);
}

Value Blocker::floorTo(Value value, int64_t multiple) {
  return b_.createOrFold<arith::MulIOp>(
      loc_, b_.createOrFold<arith::DivUIOp>(loc_, value, index(multiple)), index(multiple));
}

bool Blocker::available(Value value) {
  Value now = map_.lookupOrNull(value);
  if (!now)
    return false;
  Region *home = now.getParentRegion();
  return home->isAncestor(b_.getInsertionBlock()->getParent());
}

// The view here: views that a branch further down makes from others are made once more.
Value Blocker::viewHere(Value view) {
  if (available(view))
    return mapped(view);
  auto gather = view.getDefiningOp<tile::GatherOp>();
  if (!gather || !llvm::all_of(gather->getOperands(), [&](Value v) { return available(v); }))
    return {};
  IRMapping operands;
  for (Value operand : gather->getOperands())
    operands.map(operand, mapped(operand));
  return b_.clone(*gather, operands)->getResult(0);
}

Value Blocker::extent(Value value, int64_t axis) {
  int64_t full = cast<RankedTensorType>(value.getType()).getDimSize(axis);
  Demand demand = demand_.of(value, axis);
  if (demand.kind != Demand::Edges || full == 1)
    return index(full);
  Value furthest = index(0);
  for (const Edge &edge : demand.edges) {
    Value view = available(edge.offset) ? viewHere(edge.view) : Value();
    if (!view)
      return index(full);
    Value dim = b_.createOrFold<tile::DimOp>(loc_, view, static_cast<uint32_t>(edge.axis));
    Value left = b_.createOrFold<arith::SubIOp>(loc_, dim, mapped(edge.offset));
    furthest = b_.createOrFold<arith::MaxSIOp>(loc_, furthest, left);
  }
  return b_.createOrFold<arith::MinSIOp>(loc_, furthest, index(full));
}

Value Blocker::allocate(RankedTensorType type, ScratchLayout layout) {
  SmallVector<int64_t> strides(type.getRank(), 1);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  if (layout.transposed)
    std::reverse(order.begin(), order.end());
  for (int64_t i = type.getRank() - 2; i >= 0; --i) {
    int64_t inner = order[i + 1];
    strides[order[i]] = strides[inner] * type.getDimSize(inner);
    if (i == type.getRank() - 2)
      strides[order[i]] += layout.rowPadding;
  }
  auto buffer =
      sched::BufferType::get(b_.getContext(), type.getShape(), type.getElementType(), strides);
  Value result = sched::AllocOp::create(b_, loc_, buffer, IntegerAttr());
  layoutOf_[result] = layout;
  return result;
}

Value Blocker::read(Value buffer, const Block &block) {
  auto type = cast<sched::BufferType>(buffer.getType());
  return sched::ReadOp::create(b_, loc_, RankedTensorType::get(block.shape, type.getElementType()),
                               buffer, block.offsets);
}

void Blocker::write(Value value, Value buffer, ArrayRef<Value> offsets) {
  sched::WriteOp::create(b_, loc_, value, buffer, offsets);
}

Value Blocker::allocateFor(Value value) {
  return allocate(cast<RankedTensorType>(value.getType()), placement_.layouts.lookup(value));
}

LogicalResult Blocker::materialise(Value value) {
  Value buffer = allocateFor(value);
  if (failed(storeInto(value, buffer)))
    return failure();
  scratch_[value] = buffer;
  return success();
}

// Evaluates yields that are not in their target already: first into scratch of their own, since one
// yield may still read what another target holds, then into the targets.
LogicalResult Blocker::yieldInto(ArrayRef<Value> yielded, ArrayRef<Value> targets) {
  SmallVector<std::pair<Value, Value>> copies;
  for (auto [value, target] : llvm::zip_equal(yielded, targets)) {
    if (!isTile(value) || scratch_.lookup(value) == target)
      continue;
    if (!scratch_.count(value) && failed(materialise(value)))
      return failure();
    copies.push_back({value, target});
  }
  for (auto [value, target] : copies)
    if (failed(storeInto(value, target)))
      return failure();
  return success();
}

// What a loop just before leaves in scratch for this one alone: it goes on there.
Value Blocker::leftFor(scf::ForOp loop, Value init) {
  auto before = init.getDefiningOp<scf::ForOp>();
  return before && before->getBlock() == loop->getBlock() && init.hasOneUse()
             ? scratch_.lookup(init)
             : Value();
}

LogicalResult Blocker::visitFor(scf::ForOp loop) {
  SmallVector<Value> scalars, targets;
  for (auto [i, init, arg, result] :
       llvm::enumerate(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    if (!isTile(init)) {
      scalars.push_back(mapped(init));
      targets.push_back({});
      continue;
    }
    Value buffer = leftFor(loop, init);
    if (!buffer) {
      buffer = allocate(cast<RankedTensorType>(init.getType()), {});
      auto fill = [&, init = Value(init)] { return storeInto(init, buffer); };
      if (failed(beginsInRegisters(loop, i) ? onlyIf(hasNoTrips(loop), fill) : fill()))
        return failure();
    }
    for (Value value : {Value(arg), Value(result)}) // one by one: a map that grows moves its values
      scratch_[value] = buffer;
    targets.push_back(buffer);
  }
  auto now = scf::ForOp::create(b_, loc_, mapped(loop.getLowerBound()),
                                mapped(loop.getUpperBound()), mapped(loop.getStep()), scalars);
  map_.map(loop.getInductionVar(), now.getInductionVar());
  unsigned next = 0;
  for (auto [arg, result] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults()))
    if (!isTile(arg)) {
      map_.map(arg, now.getRegionIterArg(next));
      map_.map(result, now.getResult(next++));
    }
  OpBuilder::InsertionGuard guard(b_);
  if (!now.getBody()->empty())
    now.getBody()->back().erase();
  b_.setInsertionPointToEnd(now.getBody());
  if (failed(visitBlock(loop.getBody())))
    return failure();
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  if (failed(yieldInto(llvm::to_vector(yield.getOperands()), targets)))
    return failure();
  SmallVector<Value> yielded;
  for (Value value : yield.getOperands())
    if (!isTile(value))
      yielded.push_back(mapped(value));
  scf::YieldOp::create(b_, loc_, yielded);
  return success();
}

LogicalResult Blocker::visitIf(scf::IfOp op) {
  SmallVector<Value> targets;
  SmallVector<Type> scalars;
  for (Value result : op.getResults()) {
    targets.push_back({});
    if (isTile(result))
      targets.back() = scratch_[result] = allocate(cast<RankedTensorType>(result.getType()), {});
    else
      scalars.push_back(result.getType());
  }
  auto now =
      scf::IfOp::create(b_, loc_, scalars, mapped(op.getCondition()), !op.getElseRegion().empty());
  unsigned next = 0;
  for (Value result : op.getResults())
    if (!isTile(result))
      map_.map(result, now.getResult(next++));
  for (auto [from, to] : llvm::zip(op->getRegions(), now->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(b_);
    if (!to.front().empty())
      to.front().back().erase();
    b_.setInsertionPointToEnd(&to.front());
    auto yield = cast<scf::YieldOp>(from.front().getTerminator());
    if (failed(visitBlock(&from.front())) ||
        failed(yieldInto(llvm::to_vector(yield.getOperands()), targets)))
      return failure();
    SmallVector<Value> yielded;
    for (Value value : yield.getOperands())
      if (!isTile(value))
        yielded.push_back(mapped(value));
    scf::YieldOp::create(b_, loc_, yielded);
  }
  return success();
}

LogicalResult Blocker::visit(Operation *op) {
  loc_ = op->getLoc();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (auto store = dyn_cast<tile::StoreOp>(op)) {
    auto before = storedBefore_.find(store);
    if (before == storedBefore_.end())
      return storeToView(store);
    scf::ForOp loop = before->second;
    return loop ? onlyIf(hasNoTrips(loop), [&] { return storeToView(store); }) : success();
  }
  if (auto dot = dyn_cast<tile::DotOp>(op))
    return storeDot(dot);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return storeReduce(reduce);
  if (auto concat = dyn_cast<tile::ConcatOp>(op))
    return storeConcat(concat);
  bool tiles = llvm::any_of(op->getResults(), isTile);
  if (!tiles && op->getNumRegions() == 0) {
    b_.clone(*op, map_);
    return success();
  }
  if (op->getNumResults() != 1 || op->getNumRegions())
    return op->emitOpError()
           << "has no form on a CPU yet: found tiles in an operation with regions";
  Value result = op->getResult(0);
  if (walks_.makes(result))
    return success();
  return placement_.of(result) == Place::Scratch ? materialise(result) : success();
}

LogicalResult Blocker::visitBlock(mlir::Block *from) {
  for (Operation &op : *from)
    if (!isa<scf::YieldOp>(op) && failed(visit(&op)))
      return failure();
  return success();
}

FailureOr<tile::KernelOp> Blocker::run() {
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(kernel_);
  auto result = cast<tile::KernelOp>(b_.cloneWithoutRegions(*kernel_.getOperation()));
  mlir::Block *body = &result.getBody().emplaceBlock();
  for (BlockArgument arg : kernel_.getBody().getArguments())
    map_.map(arg, body->addArgument(arg.getType(), arg.getLoc()));
  b_.setInsertionPointToEnd(body);
  if (failed(visitBlock(&kernel_.getBody().front()))) {
    result.erase();
    return failure();
  }
  return result;
}

FailureOr<tile::KernelOp> blockKernel(tile::KernelOp kernel, const CpuFacts &facts) {
  return Blocker(kernel, facts).run();
}

} // namespace sinter::targets::cpu
