// Emission, the walk: the body moves into a function, then each SIMT operation is replaced in
// place.
#include "sched/simt/add_shares.h"
#include "sched/simt/layout.h"
#include "sched/simt/prefetch_loads.h"
#include "targets/simt/emit_llvm_memory.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::simt {

namespace {
/// A view argument in the function.
struct BoundView {
  Value base;
  SmallVector<Value> dims, strides; // index
  bool constant = false;            // nobody writes it while the kernel runs
};

class Emitter {
public:
  Emitter(tile::KernelOp kernel, ModuleOp module, const SimtTarget &target)
      : kernel_(kernel), module_(module), target_(target), b_(kernel.getContext()) {}

  FailureOr<EmittedKernel> run();

private:
  LogicalResult readAttributes();
  LLVM::LLVMFuncOp makeFunction();
  void bindArguments(mlir::Block &entry, mlir::Block &body);
  bool isConstant(BlockArgument argument);
  BoundView bindView(tile::ViewType type, Value base, bool constant);
  Value nextScalar();
  LogicalResult replace(Operation *op);
  Value value(Site s, Operation *op);
  Value programId(Site s, tile::ProgramIdOp op);
  LogicalResult matrix(Site s, sched::MatrixOp op);
  LogicalResult asynchronous(Site s, Operation *op);
  LogicalResult load(Site s, sched::ViewLoadOp op);
  LogicalResult store(Site s, sched::ViewStoreOp op);
  LogicalResult sharedLoad(Site s, sched::SharedLoadOp op);
  LogicalResult sharedStore(Site s, sched::SharedStoreOp op);
  Value sharedPointer(Site s, Value byte);
  Value tableLoad(Site s, sched::TableLoadOp op);
  FailureOr<BoundView *> viewOf(Operation *op, Value view);

  tile::KernelOp kernel_;
  ModuleOp module_;
  const SimtTarget &target_;
  OpBuilder b_;
  EmittedKernel result_;
  LLVM::GlobalOp shared_;
  llvm::DenseMap<Attribute, LLVM::GlobalOp> tables_;
  mlir::Block *entry_ = nullptr;
  llvm::DenseMap<Value, BoundView> views_;
};
} // namespace

LogicalResult Emitter::readAttributes() {
  FailureOr<int64_t> threads = sched::threadsOf(kernel_, kMaxThreads);
  auto shared = kernel_->getAttrOfType<IntegerAttr>(sched::kSharedName);
  if (failed(threads))
    return failure();
  if (shared && shared.getInt() < 0)
    return kernel_.emitOpError() << "has sched.shared = " << shared << ", expected bytes";
  kernel_.walk([&](sched::AwaitLaunchesOp) { result_.overlaps = true; });
  result_.symbol = kernel_.getSymName().str();
  result_.threads = *threads;
  result_.sharedBytes = shared ? shared.getInt() : 0;
  return success();
}

LLVM::LLVMFuncOp Emitter::makeFunction() {
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext(), kGlobalSpace);
  SmallVector<Type> types;
  SmallVector<tile::ViewType> views;
  SmallVector<bool> constant;
  for (BlockArgument argument : kernel_.getBody().getArguments()) {
    auto view = dyn_cast<tile::ViewType>(argument.getType());
    result_.bufferCount += view ? 1 : 0;
    result_.scalarCount += view ? view.getRank() * 2 - (view.getStrided() ? 0 : 1) : 1;
    if (!view)
      continue;
    views.push_back(view);
    constant.push_back(isConstant(argument));
  }
  types.append(result_.bufferCount, pointer);
  types.append(result_.scalarCount, b_.getI64Type());
  b_.setInsertionPointToEnd(module_.getBody());
  auto function = LLVM::LLVMFuncOp::create(
      b_, kernel_.getLoc(), result_.symbol,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b_.getContext()), types));
  for (auto [index, view] : llvm::enumerate(views)) {
    // What earlier launches still write is no constant: its loads stay behind the wait.
    if (constant[index] || view.isWritable())
      function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
    if (constant[index])
      function.setArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName(), b_.getUnitAttr());
  }
  target_.declareKernel(function, result_.threads);
  if (const int64_t blocks = sched::blocksOf(kernel_); blocks > 1)
    target_.spreadPrograms(function, blocks);
  if (auto resident = kernel_->getAttrOfType<IntegerAttr>(sched::kResidentName))
    target_.preferRegisters(function, resident.getInt());
  else if (kernel_->hasAttr(sched::kLatencyBound))
    target_.preferRegisters(function, kernel_->hasAttr(sched::kReadsAhead) ? 2 : 1);
  return function;
}

Value Emitter::nextScalar() {
  return entry_->getArgument(result_.bufferCount + result_.scalarCount++);
}

bool Emitter::isConstant(BlockArgument argument) {
  auto view = cast<tile::ViewType>(argument.getType());
  return !view.isWritable() &&
         (!result_.overlaps || tile::isConstant(kernel_, argument.getArgNumber()));
}

BoundView Emitter::bindView(tile::ViewType type, Value base, bool constant) {
  BoundView view{base, {}, {}, constant};
  Location loc = kernel_.getLoc();
  auto scalar = [&]() -> Value {
    return arith::IndexCastOp::create(b_, loc, b_.getIndexType(), nextScalar());
  };
  for (int64_t extent : type.getShape()) {
    Value passed = scalar();
    view.dims.push_back(ShapedType::isDynamic(extent)
                            ? passed
                            : arith::ConstantIndexOp::create(b_, loc, extent).getResult());
  }
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    view.strides.push_back(axis + 1 == type.getRank() && !type.getStrided()
                               ? arith::ConstantIndexOp::create(b_, loc, 1).getResult()
                               : scalar());
  return view;
}

void Emitter::bindArguments(mlir::Block &entry, mlir::Block &body) {
  b_.setInsertionPointToStart(&entry);
  entry_ = &entry;
  int64_t buffer = 0;
  result_.scalarCount = 0; // counted again as they are bound
  for (BlockArgument arg : body.getArguments()) {
    Type type = arg.getType();
    if (auto view = dyn_cast<tile::ViewType>(type)) {
      views_[arg] = bindView(view, entry.getArgument(buffer++), isConstant(arg));
      continue;
    }
    Value bits = nextScalar();
    if (type.isIndex()) {
      bits = arith::IndexCastOp::create(b_, arg.getLoc(), type, bits);
    } else if (unsigned width = type.getIntOrFloatBitWidth(); true) {
      if (width < 64)
        bits = arith::TruncIOp::create(b_, arg.getLoc(), b_.getIntegerType(width), bits);
      if (isa<FloatType>(type))
        bits = arith::BitcastOp::create(b_, arg.getLoc(), type, bits);
    }
    arg.replaceAllUsesWith(bits);
  }
}

FailureOr<BoundView *> Emitter::viewOf(Operation *op, Value view) {
  auto found = views_.find(view);
  if (found == views_.end())
    return op->emitOpError() << "reaches a view that is no kernel argument";
  return &found->second;
}

static Value widened(Site s, Value value) {
  Value wide = arith::ExtUIOp::create(s.b, s.loc, s.b.getI64Type(), value);
  return arith::IndexCastOp::create(s.b, s.loc, s.b.getIndexType(), wide);
}

LogicalResult Emitter::load(Site s, sched::ViewLoadOp op) {
  FailureOr<BoundView *> view = viewOf(op, op.getView());
  if (failed(view))
    return failure();
  FailureOr<Value> loaded = emitLoad(s, op, target_, bytePointer(s, (*view)->base, op.getByte()),
                                     {(*view)->constant, kernel_->hasAttr(sched::kStreams)});
  if (failed(loaded))
    return failure();
  op.getResult().replaceAllUsesWith(*loaded);
  return success();
}

LogicalResult Emitter::store(Site s, sched::ViewStoreOp op) {
  FailureOr<BoundView *> view = viewOf(op, op.getView());
  if (failed(view))
    return failure();
  return emitStore(s, op, target_, op.getValue(), bytePointer(s, (*view)->base, op.getByte()),
                   op.getWhen(), op.getAlign());
}

Value Emitter::sharedPointer(Site s, Value byte) {
  if (!shared_)
    shared_ = target_.declareShared(module_, result_.symbol, result_.sharedBytes);
  auto pointer = LLVM::LLVMPointerType::get(s.b.getContext(), kSharedSpace);
  Value base = LLVM::AddressOfOp::create(s.b, s.loc, shared_);
  return LLVM::GEPOp::create(s.b, s.loc, pointer, s.b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{byte},
                             LLVM::GEPNoWrapFlags::inbounds | LLVM::GEPNoWrapFlags::nuw);
}

Value Emitter::tableLoad(Site s, sched::TableLoadOp op) {
  LLVM::GlobalOp &table = tables_[op.getTableAttr()];
  Type word = s.b.getI32Type();
  ArrayRef<int32_t> words = op.getTable();
  if (!table) {
    OpBuilder b = OpBuilder::atBlockBegin(module_.getBody());
    const std::string name = result_.symbol + "__table" + std::to_string(tables_.size());
    auto type = RankedTensorType::get({static_cast<int64_t>(words.size())}, word);
    table =
        LLVM::GlobalOp::create(b, op.getLoc(), LLVM::LLVMArrayType::get(word, words.size()),
                               /*isConstant=*/true, LLVM::Linkage::Internal, name,
                               DenseElementsAttr::get(type, words), sizeof(int32_t), kGlobalSpace);
  }
  Value base = LLVM::AddressOfOp::create(s.b, s.loc, table);
  Value index = arith::ExtUIOp::create(s.b, s.loc, s.b.getI64Type(), op.getIndex());
  Value at =
      LLVM::GEPOp::create(s.b, s.loc, base.getType(), word, base, ArrayRef<LLVM::GEPArg>{index});
  return LLVM::LoadOp::create(s.b, s.loc, word, at, sizeof(int32_t), /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/true);
}

LogicalResult Emitter::sharedLoad(Site s, sched::SharedLoadOp op) {
  FailureOr<Value> loaded = emitPlainLoad(s, op, target_, sharedPointer(s, op.getByte()));
  if (failed(loaded))
    return failure();
  op.getResult().replaceAllUsesWith(*loaded);
  return success();
}

LogicalResult Emitter::sharedStore(Site s, sched::SharedStoreOp op) {
  return emitStore(s, op, target_, op.getValue(), sharedPointer(s, op.getByte()), op.getWhen(),
                   std::nullopt);
}

LogicalResult Emitter::matrix(Site s, sched::MatrixOp op) {
  FailureOr<Value> result = target_.matrix(s, op);
  if (failed(result))
    return failure();
  op.getResult().replaceAllUsesWith(*result);
  return success();
}

FailureOr<Value> SimtTarget::asynchronous(Site, Operation *op, ArrayRef<Value>) const {
  return op->emitOpError() << "is no operation of this target";
}

LogicalResult Emitter::asynchronous(Site s, Operation *op) {
  SmallVector<Value> operands;
  if (auto copy = dyn_cast<sched::CopyAsyncOp>(op)) {
    FailureOr<BoundView *> view = viewOf(op, copy.getView());
    if (failed(view))
      return failure();
    operands = {bytePointer(s, (*view)->base, copy.getByte()), copy.getWhen(),
                sharedPointer(s, copy.getShared())};
  } else if (auto product = dyn_cast<sched::MatrixAsyncOp>(op)) {
    operands = {sharedPointer(s, product.getA()), sharedPointer(s, product.getB()),
                product.getAcc()};
  } else if (auto product = dyn_cast<sched::MatrixTileAsyncOp>(op)) {
    operands = {product.getA(), sharedPointer(s, product.getB()), product.getAcc()};
  } else if (auto remote = dyn_cast<sched::RemoteLoadOp>(op)) {
    operands = {sharedPointer(s, remote.getByte()), remote.getBlock()};
  } else if (auto matrices = dyn_cast<sched::SharedMatricesOp>(op)) {
    operands = {sharedPointer(s, matrices.getByte())};
  } else {
    operands.assign(op->operand_begin(), op->operand_end());
  }
  FailureOr<Value> result = target_.asynchronous(s, op, operands);
  if (failed(result))
    return failure();
  if (*result)
    op->getResult(0).replaceAllUsesWith(*result);
  return success();
}

// A program of several blocks has their number along x.
Value Emitter::programId(Site s, tile::ProgramIdOp op) {
  Value id = target_.programId(s, op.getAxis());
  const int64_t blocks = sched::blocksOf(kernel_);
  if (op.getAxis() == 0 && blocks > 1)
    id = arith::DivUIOp::create(
        s.b, s.loc, id,
        arith::ConstantOp::create(s.b, s.loc, s.b.getI32IntegerAttr(static_cast<int32_t>(blocks))));
  return widened(s, id);
}

// The value of an operation that only computes; null where it is none of these.
Value Emitter::value(Site s, Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](tile::ProgramIdOp o) { return programId(s, o); })
      .Case([&](tile::DimOp o) {
        auto view = views_.find(o.getView());
        return view == views_.end() ? Value() : view->second.dims[o.getAxis()];
      })
      .Case([&](sched::StrideOp o) {
        auto view = views_.find(o.getView());
        return view == views_.end() ? Value() : view->second.strides[o.getAxis()];
      })
      .Case([&](sched::ThreadOp) { return target_.threadId(s); })
      .Case([&](sched::TableLoadOp o) { return tableLoad(s, o); })
      .Case([&](sched::PermuteBytesOp o) { return target_.permuteBytes(s, o); })
      .Case([&](sched::ShuffleOp o) -> Value {
        Type i32 = s.b.getI32Type();
        Value bits = o.getValue();
        if (bits.getType() != i32)
          bits = arith::BitcastOp::create(s.b, s.loc, i32, bits);
        bits = target_.shuffle(s, bits, static_cast<int32_t>(o.getMask()), result_.threads);
        return o.getType() == i32
                   ? bits
                   : arith::BitcastOp::create(s.b, s.loc, o.getType(), bits).getResult();
      })
      .Default([&](Operation *o) {
        return isa<arith::ArithDialect, math::MathDialect, vector::VectorDialect>(o->getDialect())
                   ? target_.elementwise(s, o)
                   : Value();
      });
}

// LLVM would call a library for the others.
static bool isNative(Operation *op) {
  return isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
             math::RoundEvenOp>(op);
}

LogicalResult Emitter::replace(Operation *op) {
  b_.setInsertionPoint(op);
  Site s{b_, op->getLoc()};
  if (op->getNumResults() == 1)
    if (Value result = value(s, op)) {
      op->getResult(0).replaceAllUsesWith(result);
      return op->erase(), success();
    }
  bool known = true;
  LogicalResult done =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](tile::GridOp) { return success(); })
          .Case([&](sched::BarrierOp) { return target_.barrier(s), success(); })
          .Case([&](sched::ViewLoadOp o) { return load(s, o); })
          .Case([&](sched::ViewStoreOp o) { return store(s, o); })
          .Case([&](sched::SharedLoadOp o) { return sharedLoad(s, o); })
          .Case([&](sched::SharedStoreOp o) { return sharedStore(s, o); })
          .Case([&](sched::MatrixOp o) { return matrix(s, o); })
          .Case<sched::AwaitLaunchesOp, sched::BlockOp, sched::ProgramBarrierOp,
                sched::RemoteLoadOp, sched::SharedMatricesOp, sched::CopyAsyncOp,
                sched::CopyCommitOp, sched::CopyWaitOp, sched::MatrixAsyncOp, sched::MatrixFenceOp,
                sched::MatrixTileAsyncOp, sched::PinOp, sched::MatrixWaitOp>(
              [&](Operation *o) { return asynchronous(s, o); })
          .Default([&](Operation *) { return known = false, success(); });
  if (known && succeeded(done))
    op->erase();
  if (!known && isa<tile::TileDialect, sched::SchedDialect>(op->getDialect()))
    return op->emitOpError() << "has no form in a kernel of threads, expected SIMT IR";
  if (!known && isa<math::MathDialect>(op->getDialect()) && !isNative(op))
    return op->emitOpError() << "is no instruction of the target, expected it expanded";
  return done;
}

FailureOr<EmittedKernel> Emitter::run() {
  if (failed(readAttributes()))
    return failure();
  OwningOpRef<tile::KernelOp> copy(cast<tile::KernelOp>(kernel_->clone()));
  mlir::Block &body = copy->getBody().front();
  LLVM::LLVMFuncOp function = makeFunction();
  mlir::Block &entry = *function.addEntryBlock(b_);
  bindArguments(entry, body);
  SmallVector<Operation *> work;
  body.walk([&](Operation *op) { work.push_back(op); });
  entry.getOperations().splice(entry.end(), body.getOperations());
  LogicalResult done = success();
  for (Operation *op : work)
    if (succeeded(done))
      done = replace(op);
  b_.setInsertionPointToEnd(&entry);
  LLVM::ReturnOp::create(b_, kernel_.getLoc(), ValueRange());
  if (failed(done)) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(entry)))
      op.dropAllUses(), op.erase();
    return function.erase(), failure();
  }
  return result_;
}

FailureOr<EmittedKernel> emitSimt(tile::KernelOp kernel, ModuleOp module,
                                  const SimtTarget &target) {
  return Emitter(kernel, module, target).run();
}

Result<OwningOpRef<ModuleOp>> emitModule(ModuleOp scheduled, const SimtTarget &target,
                                         const std::string &name, int64_t sharedBytes,
                                         std::vector<EmittedKernel> &kernels) {
  scheduled.getContext()->loadDialect<LLVM::LLVMDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> emitted(ModuleOp::create(scheduled.getLoc()));
  for (auto kernel : scheduled.getOps<tile::KernelOp>()) {
    FailureOr<EmittedKernel> one = emitSimt(kernel, *emitted, target);
    if (failed(one))
      return fail(Code::Unsupported,
                  "kernel '" + kernel.getSymName().str() + "' could not be emitted for " + name);
    if (one->sharedBytes > sharedBytes)
      return fail(Code::Unsupported,
                  "kernel '" + one->symbol + "' needs " + std::to_string(one->sharedBytes) +
                      " bytes of shared memory, " + name + " has " + std::to_string(sharedBytes));
    kernels.push_back(*one);
  }
  if (failed(lowerToLlvm(*emitted)))
    return fail(Code::Internal, "the kernels could not be lowered to LLVM");
  return emitted;
}

} // namespace sinter::targets::simt
