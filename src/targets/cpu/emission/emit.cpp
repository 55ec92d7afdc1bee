// Emission, the walk: structure and scalars are rebuilt one to one, tile values become pieces.
#include "targets/cpu/emission/emitter.h"

using namespace mlir;

namespace sinter::targets::cpu {

// Scratch starts with bytes that reads outside a view may touch instead of memory: a block of the
// largest format.
static constexpr int64_t kGuardBytes = 320;
static constexpr int64_t kScratchAlignment = 64;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

Value Emitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b_, loc_, value);
}
Value Emitter::add(Value a, Value b) {
  return b_.createOrFold<arith::AddIOp>(loc_, a, b);
}
Value Emitter::mul(Value a, Value b) {
  return b_.createOrFold<arith::MulIOp>(loc_, a, b);
}

SmallVector<Value> Emitter::scalarsOf(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value v) { return scalarOf(v); });
}

Value Emitter::nextScalar(Value scalars) {
  auto i64 = b_.getI64Type();
  auto ptr = LLVM::LLVMPointerType::get(b_.getContext());
  Value at =
      LLVM::GEPOp::create(b_, loc_, ptr, i64, scalars,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(result_.scalarCount++)});
  return LLVM::LoadOp::create(b_, loc_, i64, at, 8, false, false, /*isInvariant=*/true);
}

void Emitter::bindView(Value view, Value buffers, Value scalars) {
  auto type = cast<tile::ViewType>(view.getType());
  auto ptr = LLVM::LLVMPointerType::get(b_.getContext());
  Value at =
      LLVM::GEPOp::create(b_, loc_, ptr, ptr, buffers,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(result_.bufferCount++)});
  EmittedView emitted{type, LLVM::LoadOp::create(b_, loc_, ptr, at, 8, false, false, true),
                      {},   {},
                      {},   {},
                      {},   {},
                      {},   0};
  auto scalar = [&] {
    return arith::IndexCastOp::create(b_, loc_, b_.getIndexType(), nextScalar(scalars));
  };
  for (int64_t extent : type.getShape()) {
    Value passed = scalar();
    emitted.dims.push_back(ShapedType::isDynamic(extent) ? passed : index(extent));
    emitted.origin.push_back(index(0));
    emitted.low.push_back({});
  }
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    bool innermost = axis + 1 == type.getRank() && !type.getStrided();
    Value passed = innermost ? index(1) : Value(scalar());
    std::optional<int64_t> known = tile::givenStride(cast<BlockArgument>(view), axis);
    if (!known)
      known = type.denseStride(axis);
    emitted.strides.push_back(known ? index(*known) : passed);
  }
  views_[view] = emitted;
}

void Emitter::bindArguments(LLVM::LLVMFuncOp function) {
  Value buffers = function.getArgument(0), scalars = function.getArgument(1);
  scratch_ = function.getArgument(2);
  for (int i = 0; i < 3; ++i)
    programIds_[i] =
        arith::IndexCastOp::create(b_, loc_, b_.getIndexType(), function.getArgument(3 + i));
  for (BlockArgument arg : kernel_.getBody().getArguments()) {
    if (isa<tile::ViewType>(arg.getType())) {
      bindView(arg, buffers, scalars);
      continue;
    }
    Value bits = nextScalar(scalars);
    Type type = arg.getType();
    if (type.isIndex()) {
      bits = arith::IndexCastOp::create(b_, loc_, type, bits);
    } else {
      unsigned width = type.getIntOrFloatBitWidth();
      Value narrow =
          width == 64
              ? bits
              : arith::TruncIOp::create(b_, loc_, b_.getIntegerType(width), bits).getResult();
      bits = isa<FloatType>(type) ? arith::BitcastOp::create(b_, loc_, type, narrow).getResult()
                                  : narrow;
    }
    map_.map(arg, bits);
  }
}

// Blocks outside a view read as zeros: scale 0 and sum 0.
void Emitter::clearGuard() {
  auto type = VectorType::get({kGuardBytes / 4}, b_.getI32Type());
  Value zeros = arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(type));
  LLVM::StoreOp::create(b_, loc_, zeros, scratch_, kScratchAlignment);
}

SmallVector<Value> Emitter::yielded(Operation *terminator) {
  SmallVector<Value> values;
  for (Value operand : terminator->getOperands()) {
    if (!isTile(operand)) {
      values.push_back(scalarOf(operand));
      continue;
    }
    const Pieces &pieces = tiles_.find(operand)->second;
    llvm::append_range(values, relayout(pieces, canonicalLane(pieces.shape)).values);
  }
  return values;
}

// Takes the pieces of `type` from the front of `values`.
static Pieces takePieces(RankedTensorType type, int64_t lane, size_t count,
                         ArrayRef<Value> &values) {
  Pieces pieces{SmallVector<int64_t>(type.getShape()), lane, false,
                SmallVector<Value>(values.take_front(count))};
  values = values.drop_front(count);
  return pieces;
}

void Emitter::bind(ValueRange old, ArrayRef<Value> values) {
  for (Value value : old) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
      tiles_[value] =
          takePieces(type, canonicalLane(type.getShape()), pieceTypes(type).size(), values);
      continue;
    }
    map_.map(value, values.front());
    values = values.drop_front();
  }
}

LogicalResult Emitter::emitFor(scf::ForOp loop) {
  SmallVector<Value> inits;
  for (Value init : loop.getInitArgs()) {
    if (!isTile(init)) {
      inits.push_back(scalarOf(init));
      continue;
    }
    const Pieces &pieces = tiles_.find(init)->second;
    llvm::append_range(inits, relayout(pieces, canonicalLane(pieces.shape)).values);
  }
  auto now = scf::ForOp::create(b_, loc_, scalarOf(loop.getLowerBound()),
                                scalarOf(loop.getUpperBound()), scalarOf(loop.getStep()), inits);
  map_.map(loop.getInductionVar(), now.getInductionVar());
  bind(loop.getRegionIterArgs(), llvm::to_vector_of<Value>(now.getRegionIterArgs()));
  bind(loop.getResults(), llvm::to_vector_of<Value>(now.getResults()));
  OpBuilder::InsertionGuard guard(b_);
  if (!now.getBody()->empty())
    now.getBody()->back().erase();
  b_.setInsertionPointToEnd(now.getBody());
  if (failed(emitBlock(*loop.getBody())))
    return failure();
  scf::YieldOp::create(b_, loc_, yielded(loop.getBody()->getTerminator()));
  return success();
}

LogicalResult Emitter::emitIf(scf::IfOp op) {
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    if (auto tile = dyn_cast<RankedTensorType>(type))
      llvm::append_range(types, pieceTypes(tile));
    else
      types.push_back(type);
  auto now =
      scf::IfOp::create(b_, loc_, types, scalarOf(op.getCondition()), !op.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(op->getRegions(), now->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(b_);
    if (!to.front().empty())
      to.front().back().erase();
    b_.setInsertionPointToEnd(&to.front());
    if (failed(emitBlock(from.front())))
      return failure();
    scf::YieldOp::create(b_, loc_, yielded(from.front().getTerminator()));
  }
  bind(op.getResults(), llvm::to_vector_of<Value>(now.getResults()));
  return success();
}

LogicalResult Emitter::emitScalar(Operation *op) {
  for (Value operand : op->getOperands())
    if (!map_.contains(operand))
      return op->emitOpError() << "has no form on a CPU yet";
  b_.clone(*op, map_);
  return success();
}

LogicalResult Emitter::emit(Operation *op) {
  loc_ = op->getLoc();
  if (auto id = dyn_cast<tile::ProgramIdOp>(op))
    return map_.map(id.getResult(), programIds_[id.getAxis()]), success();
  if (auto dim = dyn_cast<tile::DimOp>(op))
    return map_.map(dim.getResult(), views_.find(dim.getView())->second.dims[dim.getAxis()]),
           success();
  if (auto alloc = dyn_cast<sched::AllocOp>(op)) {
    auto type = cast<sched::BufferType>(alloc.getResult().getType());
    scratchOffset_[alloc.getResult()] = result_.scratchBytes;
    int64_t bytes =
        type.getSpan() * llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    result_.scratchBytes += llvm::alignTo(bytes, kScratchAlignment);
    return success();
  }
  if (isa<tile::BroadcastOp, tile::ReshapeOp, tile::PermuteOp, tile::ReduceOp, sched::PairOp>(op) &&
      !tiles_.contains(op->getOperand(0)))
    return op->emitOpError() << "has no form on a CPU yet: its operand is "
                             << op->getOperand(0).getType();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp o) { return emitFor(o); })
      .Case([&](scf::IfOp o) { return emitIf(o); })
      .Case([&](tile::GridOp) { return success(); })
      .Case([&](tile::WindowOp o) { return emitWindow(o), success(); })
      .Case([&](tile::GatherOp o) { return emitGather(o), success(); })
      .Case([&](tile::LoadOp o) { return emitLoad(o); })
      .Case([&](tile::LoadScalarOp o) { return emitLoadScalar(o); })
      .Case([&](tile::StoreOp o) { return emitStore(o); })
      .Case([&](sched::ReadOp o) { return emitRead(o); })
      .Case([&](sched::WriteOp o) { return emitWrite(o); })
      .Case([&](sched::PairOp o) { return emitPair(o); })
      .Case([&](sched::ExpandOp o) { return emitExpand(o); })
      .Case([&](sched::TotalScalesOp o) { return emitTotalScales(o); })
      .Case([&](sched::PanelDotOp o) { return emitPanelDot(o); })
      .Case([&](sched::ScaleTotalsOp o) { return emitScaleTotals(o); })
      .Case([&](sched::AddScaledOp o) { return emitAddScaled(o); })
      .Case([&](sched::PrefetchOp o) { return emitPrefetch(o), success(); })
      .Case([&](tile::IotaOp o) { return emitIota(o); })
      .Case([&](tile::BroadcastOp o) { return emitBroadcast(o); })
      .Case([&](tile::ReshapeOp o) { return emitReshape(o); })
      .Case([&](tile::PermuteOp o) { return emitPermute(o); })
      .Case([&](tile::ReduceOp o) { return emitReduce(o); })
      .Case([&](tile::DotOp o) { return emitDot(o); })
      .Case([&](tile::DequantizeOp o) { return emitDequantize(o); })
      .Case([&](tile::SliceOp o) { return emitSlice(o); })
      .Case([&](tile::QuantizeOp) { return success(); }) // written by the store that uses it
      .Case([&](tile::SplatOp o) {
        tiles_[o.getResult()] = {
            SmallVector<int64_t>(cast<RankedTensorType>(o.getType()).getShape()),
            -1,
            true,
            {scalarOf(o.getValue())}};
        return success();
      })
      .Default([&](Operation *o) {
        if (auto constant = dyn_cast<arith::ConstantOp>(o);
            constant && isTile(constant.getResult()))
          return emitConstant(constant);
        if (o->getNumResults() == 1 && isTile(o->getResult(0)))
          return emitElementwise(o);
        return emitScalar(o);
      });
}

LogicalResult Emitter::emitBlock(mlir::Block &block) {
  for (Operation &op : block)
    if (!isa<scf::YieldOp>(op) && failed(emit(&op)))
      return failure();
  return success();
}

FailureOr<EmittedKernel> Emitter::run() {
  loc_ = kernel_.getLoc();
  result_.symbol = kernel_.getSymName().str();
  result_.scratchBytes = kGuardBytes;
  b_.setInsertionPointToEnd(module_.getBody());
  auto ptr = LLVM::LLVMPointerType::get(b_.getContext());
  Type i64 = b_.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b_.getContext()),
                                          {ptr, ptr, ptr, i64, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(b_, loc_, result_.symbol, type);
  for (unsigned i = 0; i < 3; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
  b_.setInsertionPointToStart(function.addEntryBlock(b_));
  bindArguments(function);
  clearGuard();
  if (failed(emitBlock(kernel_.getBody().front()))) {
    function.erase();
    return failure();
  }
  LLVM::ReturnOp::create(b_, loc_, ValueRange());
  return result_;
}

FailureOr<EmittedKernel> emitKernel(tile::KernelOp kernel, ModuleOp module, const CpuFacts &facts) {
  return Emitter(kernel, module, facts).run();
}

} // namespace sinter::targets::cpu
