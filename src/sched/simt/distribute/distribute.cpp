// Distribution, the walk: structure and scalars are rebuilt one to one, tiles become registers.
#include "sched/simt/distribute/distribute.h"
#include "sched/simt/distribute/distributor.h"

using namespace mlir;

namespace sinter::sched {

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

int64_t elementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

SmallVector<Value> Distributor::flattened(ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values) {
    if (isTile(value))
      llvm::append_range(flat, registersOf(value));
    else
      flat.push_back(scalarOf(value));
  }
  return flat;
}

void Distributor::bindFlat(ValueRange old, ValueRange flat) {
  for (Value value : old) {
    if (!isTile(value)) {
      map_.map(value, flat.front());
      flat = flat.drop_front();
      continue;
    }
    size_t count = SimtLayout::of(value.getType()).registers();
    registers_[value] = Registers(flat.take_front(count));
    flat = flat.drop_front(count);
  }
}

LogicalResult Distributor::emitFor(scf::ForOp loop) {
  auto now =
      scf::ForOp::create(b_, loc_, scalarOf(loop.getLowerBound()), scalarOf(loop.getUpperBound()),
                         scalarOf(loop.getStep()), flattened(loop.getInitArgs()));
  map_.map(loop.getInductionVar(), now.getInductionVar());
  bindFlat(loop.getRegionIterArgs(), now.getRegionIterArgs());
  bindFlat(loop.getResults(), now.getResults());
  OpBuilder::InsertionGuard guard(b_);
  if (!now.getBody()->empty())
    now.getBody()->back().erase();
  b_.setInsertionPointToEnd(now.getBody());
  sharedUsed_ = true; // by the round before
  if (failed(emitBlock(*loop.getBody())))
    return failure();
  scf::YieldOp::create(b_, loc_, flattened(loop.getBody()->getTerminator()->getOperands()));
  return success();
}

LogicalResult Distributor::emitIf(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Value result : branch.getResults()) {
    auto tile = dyn_cast<RankedTensorType>(result.getType());
    types.append(tile ? SimtLayout::of(tile).registers() : 1,
                 tile ? tile.getElementType() : result.getType());
  }
  auto now = scf::IfOp::create(b_, loc_, types, scalarOf(branch.getCondition()),
                               !branch.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(branch->getRegions(), now->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(b_);
    if (!to.front().empty())
      to.front().back().erase();
    b_.setInsertionPointToEnd(&to.front());
    if (failed(emitBlock(from.front())))
      return failure();
    scf::YieldOp::create(b_, loc_, flattened(from.front().getTerminator()->getOperands()));
  }
  bindFlat(branch.getResults(), now.getResults());
  return success();
}

LogicalResult Distributor::emitScalar(Operation *op) {
  for (Value operand : op->getOperands())
    if (isTile(operand) || isa<tile::ViewType>(operand.getType()))
      return op->emitOpError() << "has no form for threads yet";
  b_.clone(*op, map_);
  return success();
}

LogicalResult Distributor::emit(Operation *op) {
  loc_ = op->getLoc();
  if (inTurn_.contains(op))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp o) { return emitFor(o); })
      .Case([&](scf::IfOp o) { return emitIf(o); })
      .Case([&](tile::GridOp) { return success(); })
      .Case([&](AwaitLaunchesOp) { return AwaitLaunchesOp::create(b_, loc_), success(); })
      .Case([&](tile::DimOp o) {
        map_.map(o.getResult(), views_.find(o.getView())->second.dims[o.getAxis()]);
        return success();
      })
      .Case([&](tile::WindowOp o) { return emitWindow(o), success(); })
      .Case([&](tile::GatherOp o) { return emitGather(o), success(); })
      .Case([&](tile::LoadOp o) { return emitLoad(o); })
      .Case([&](tile::LoadScalarOp o) { return emitLoadScalar(o); })
      .Case([&](tile::StoreOp o) { return emitStore(o); })
      .Case([&](BlockLoadOp o) { return emitBlockLoad(o); })
      .Case([&](BlockStoreOp o) { return emitBlockStore(o); })
      .Case([&](MakePipelineOp o) { return emitMakePipeline(o); })
      .Case([&](StageCopyOp o) { return emitStageCopy(o); })
      .Case([&](CommitOp) { return CopyCommitOp::create(b_, loc_), success(); })
      .Case([&](AwaitOp o) {
        CopyWaitOp::create(b_, loc_, o.getPending());
        return barrier(), success();
      })
      .Case([&](StageReadOp o) { return emitStageRead(o); })
      .Case([&](StageDotOp o) { return emitStageDot(o); })
      .Case([&](TileDotOp o) { return emitTileDot(o); })
      .Case([&](SettleOp o) { return emitSettle(o); })
      .Case([&](StageStoreOp o) { return emitStageStore(o); })
      .Case([&](StageAccumulateOp o) { return emitStageAccumulate(o); })
      .Case([&](AccReadOp o) { return emitAccRead(o); })
      .Case([&](SplitDotOp o) { return emitSplitDot(o); })
      .Case([&](GroupDotOp o) { return emitGroupDot(o); })
      .Case([&](JoinSharesOp o) { return emitJoinShares(o); })
      .Case([&](tile::IotaOp o) { return emitIota(o), success(); })
      .Case([&](tile::BroadcastOp o) { return emitBroadcast(o), success(); })
      .Case([&](tile::PermuteOp o) { return emitPermute(o), success(); })
      .Case([&](tile::ReduceOp o) { return emitReduce(o); })
      .Case([&](ConvertOp o) { return emitConvert(o); })
      .Case([&](tile::ReshapeOp o) { return emitReshape(o); })
      .Case([&](tile::SliceOp o) { return emitSlice(o); })
      .Case([&](tile::ConcatOp o) { return emitConcat(o); })
      .Case([&](tile::DotOp o) { return emitDot(o); })
      .Case([&](tile::SplatOp o) {
        registers_[o.getResult()] =
            Registers(SimtLayout::of(o.getType()).registers(), scalarOf(o.getValue()));
        return success();
      })
      .Default([&](Operation *o) {
        if (auto constant = dyn_cast<arith::ConstantOp>(o);
            constant && isTile(constant.getResult()))
          return emitConstant(constant);
        if (isa<arith::ArithDialect, math::MathDialect>(o->getDialect()) &&
            o->getNumResults() == 1 && isTile(o->getResult(0)))
          return emitElementwise(o);
        return emitScalar(o);
      });
}

LogicalResult Distributor::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (!isa<scf::YieldOp>(op) && failed(emit(&op)))
      return failure();
    releasePipelines(&op);
  }
  return success();
}

// Whether at this launch the last extent and the other strides of every view with wide accesses are
// multiples of vectors.
Value Distributor::alignedAtLaunch(Block &block) {
  Value aligned = yes();
  for (BlockArgument argument : block.getArguments()) {
    auto type = dyn_cast<tile::ViewType>(argument.getType());
    if (!type || !wide_.contains(map_.lookup(argument)))
      continue;
    const SimtView &view = views_.find(argument)->second;
    Value all = view.dims.back();
    if (type.getInterleave())
      all = index(0);
    for (Value stride : ArrayRef<Value>(view.strides).drop_back())
      all = b_.createOrFold<arith::OrIOp>(loc_, all, stride);
    int64_t multiple = std::max<int64_t>(1, facts_.vectorBytes * 8 /
                                                type.getElementType().getIntOrFloatBitWidth());
    Value rest = b_.createOrFold<arith::AndIOp>(loc_, all, index(multiple - 1));
    aligned = both(aligned,
                   b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, rest, index(0)));
  }
  return aligned;
}

// The body once, or twice behind the question whether accesses can be wide.
LogicalResult Distributor::emitBody(Block &block) {
  auto branch = scf::IfOp::create(b_, loc_, TypeRange(), yes(), true);
  for (bool aligned : {true, false}) {
    aligned_ = aligned;
    stores_ = Value();
    sharedUsed_ = false;
    pipelines_.clear(); // they begin where they began in the other body
    pipelineEnd_ = 0;
    Region &region = aligned ? branch.getThenRegion() : branch.getElseRegion();
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&region.front());
    if (failed(emitBlock(block)))
      return failure();
    if (aligned && wide_.empty()) {
      // Nothing depends on it: the one body stands alone.
      Block &only = region.front();
      only.getTerminator()->erase();
      branch->getBlock()->getOperations().splice(branch->getIterator(), only.getOperations());
      branch.erase();
      return success();
    }
  }
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch);
  loc_ = branch.getLoc();
  branch.getConditionMutable().assign(alignedAtLaunch(block));
  return success();
}

LogicalResult Distributor::run() {
  loc_ = kernel_.getLoc();
  Block &old = kernel_.getBody().front();
  int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  if (threads > facts_.maxThreads)
    return kernel_.emitOpError() << "has blocks of " << threads << " threads, expected at most "
                                 << facts_.maxThreads;
  auto *fresh = new Block();
  for (BlockArgument argument : old.getArguments())
    map_.map(argument, fresh->addArgument(argument.getType(), argument.getLoc()));
  kernel_.getBody().push_back(fresh);
  b_.setInsertionPointToStart(fresh);
  // The grid and what feeds it stay as they are, for the host.
  for (Operation &op : old)
    if (isa<tile::GridOp>(op)) {
      SetVector<Operation *> slice;
      BackwardSliceOptions options;
      options.inclusive = true;
      (void)getBackwardSlice(&op, &slice, options);
      for (Operation *each : slice)
        b_.clone(*each, map_);
    }
  thread_ = ThreadOp::create(b_, loc_);
  entry_ = thread_.getDefiningOp();
  for (BlockArgument argument : old.getArguments())
    if (isa<tile::ViewType>(argument.getType()))
      bindView(argument);
  chooseInTurn();
  if (failed(emitBody(old)))
    return failure();
  kernel_->setAttr(kSharedName, b_.getI64IntegerAttr(shared_));
  old.dropAllReferences();
  old.dropAllUses();
  old.erase();
  return success();
}

LogicalResult distribute(tile::KernelOp kernel, const SimtFacts &facts) {
  return Distributor(kernel, facts).run();
}

} // namespace sinter::sched
