// Emission, the walk: an entry point for each kernel, one piece of SPIR-V for each lane operation.
#include "target/vulkan/emit_spirv.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "target/vulkan/arithmetic.h"
#include "target/vulkan/emitter.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::target::vulkan {

static constexpr const char *kArgumentsName = "arguments";

LogicalResult Emitter::readAttributes() {
  auto threads = kernel_->getAttrOfType<IntegerAttr>("sched.threads");
  auto shared = kernel_->getAttrOfType<IntegerAttr>("sched.shared");
  if (!threads || threads.getInt() < 1 || threads.getInt() > facts_.threads ||
      !llvm::isPowerOf2_64(static_cast<uint64_t>(threads.getInt())))
    return kernel_.emitOpError() << "has sched.threads = " << kernel_->getAttr("sched.threads")
                                 << ", expected a power of two of at most " << facts_.threads;
  if (shared && (shared.getInt() < 0 || shared.getInt() > facts_.sharedBytes))
    return kernel_.emitOpError() << "needs " << shared.getInt()
                                 << " bytes of shared memory, expected at most "
                                 << facts_.sharedBytes;
  result_.symbol = kernel_.getSymName().str();
  result_.threads = threads.getInt();
  result_.sharedBytes = shared ? shared.getInt() : 0;
  kernel_.walk([&](sched::ShuffleOp) { shuffles_ = true; });
  return success();
}

LogicalResult Emitter::checkTypes() {
  WalkResult walked = kernel_.walk([&](Operation *op) {
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (!isa<tile::ViewType>(type) && !carrierOf(getElementTypeOrSelf(type))) {
          op->emitOpError() << "works on " << type << ", which has no form in SPIR-V";
          return WalkResult::interrupt();
        }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

// ---- entry point and arguments ----

spirv::GlobalVariableOp Emitter::global(StringRef name, Type type, Attribute builtin) {
  auto variable = module_.lookupSymbol<spirv::GlobalVariableOp>(name);
  if (!variable) {
    OpBuilder b = OpBuilder::atBlockBegin(module_.getBody());
    variable = spirv::GlobalVariableOp::create(b, kernel_.getLoc(), type, name);
    if (builtin)
      variable.setBuiltInAttr(cast<StringAttr>(builtin));
  }
  auto symbol = FlatSymbolRefAttr::get(variable);
  if (!llvm::is_contained(interface_, symbol))
    interface_.push_back(symbol);
  return variable;
}

Value Emitter::addressOf(spirv::GlobalVariableOp variable) {
  return spirv::AddressOfOp::create(b_, loc_, variable);
}

spirv::FuncOp Emitter::makeFunction() {
  b_.setInsertionPointToEnd(module_.getBody());
  auto function = spirv::FuncOp::create(b_, kernel_.getLoc(), result_.symbol,
                                        b_.getFunctionType(TypeRange(), TypeRange()));
  b_.setInsertionPointToStart(b_.createBlock(&function.getBody()));
  auto block = spirv::StructType::get({b_.getI64Type()}, {0});
  auto type = spirv::PointerType::get(block, spirv::StorageClass::PushConstant);
  auto member = spirv::PointerType::get(b_.getI64Type(), spirv::StorageClass::PushConstant);
  Value base = addressOf(global(kArgumentsName, type, Attribute()));
  Site c = site();
  Value pointer = c.make<spirv::AccessChainOp>(member, base, ValueRange(c.word(0)));
  argumentBlock_ = spirv::LoadOp::create(b_, loc_, pointer);
  entry_ = argumentBlock_.getDefiningOp();
  return function;
}

void Emitter::finishEntryPoint(spirv::FuncOp function) {
  spirv::ReturnOp::create(b_, loc_);
  b_.setInsertionPointToEnd(module_.getBody());
  spirv::EntryPointOp::create(b_, kernel_.getLoc(), spirv::ExecutionModel::GLCompute, function,
                              interface_);
  spirv::ExecutionModeOp::create(b_, kernel_.getLoc(), function, spirv::ExecutionMode::LocalSize,
                                 {static_cast<int32_t>(result_.threads), 1, 1});
}

// Word `number` of the argument block, read once where the kernel starts.
Value Emitter::argumentWord(int64_t number) {
  Value &word = words_[number];
  if (word)
    return word;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointAfter(entry_);
  Site c = site();
  Value address = c.make<spirv::IAddOp>(c.i64(), argumentBlock_, c.integer(c.i64(), number * 8));
  auto type = spirv::PointerType::get(c.i64(), spirv::StorageClass::PhysicalStorageBuffer);
  auto aligned = spirv::MemoryAccessAttr::get(b_.getContext(), spirv::MemoryAccess::Aligned);
  word = spirv::LoadOp::create(b_, loc_, c.make<spirv::ConvertUToPtrOp>(type, address), aligned,
                               b_.getI32IntegerAttr(8));
  entry_ = word.getDefiningOp();
  return word;
}

void Emitter::bindArguments(Block &body) {
  int64_t buffers = 0;
  for (BlockArgument argument : body.getArguments())
    buffers += isa<tile::ViewType>(argument.getType());
  result_.bufferCount = buffers;
  int64_t next = buffers, buffer = 0;
  for (BlockArgument argument : body.getArguments()) {
    if (auto view = dyn_cast<tile::ViewType>(argument.getType())) {
      views_[argument] = {buffer++, next};
      next += view.getRank() * 2 - (view.getStrided() ? 0 : 1);
      continue;
    }
    Site c = site();
    Type carrier = carrierOf(argument.getType());
    Value bits = argumentWord(next++);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointAfter(entry_);
    if (!carrier.isInteger(64))
      bits = c.make<spirv::UConvertOp>(c.i32(), bits);
    define(argument, fromBits(c, bits, argument.getType()));
    entry_ = scalar(argument).getDefiningOp();
  }
  result_.scalarCount = next - buffers;
}

// An extent or stride of an argument; null, with a diagnostic, for other views.
Value Emitter::viewWord(Operation *op, Value view, bool stride, int64_t axis) {
  auto found = views_.find(view);
  auto type = cast<tile::ViewType>(view.getType());
  if (found == views_.end()) {
    op->emitOpError() << "reaches a view that is no kernel argument";
    return {};
  }
  if (!stride && !ShapedType::isDynamic(type.getShape()[axis]))
    return site().integer(b_.getI64Type(), type.getShape()[axis]);
  if (stride && axis + 1 == type.getRank() && !type.getStrided())
    return site().integer(b_.getI64Type(), 1);
  return argumentWord(found->second.second + (stride ? type.getRank() : 0) + axis);
}

// ---- what a thread knows of itself and of others ----

Value Emitter::builtin(spirv::BuiltIn kind, StringRef name, int axis) {
  Value &known = builtins_[name];
  Site c = site();
  if (!known) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointAfter(entry_);
    Type type = axis < 0 ? c.i32() : Type(VectorType::get({3}, c.i32()));
    auto variable = global(name, spirv::PointerType::get(type, spirv::StorageClass::Input),
                           b_.getStringAttr(spirv::stringifyBuiltIn(kind)));
    known = spirv::LoadOp::create(b_, loc_, addressOf(variable));
    entry_ = known.getDefiningOp();
  }
  if (axis < 0)
    return known;
  return spirv::CompositeExtractOp::create(b_, loc_, known, ArrayRef<int32_t>{axis});
}

// Threads are counted by subgroups where they shuffle: how invocations lie in subgroups is the
// device's affair.
Value Emitter::thread() {
  if (!shuffles_ || result_.threads < facts_.subgroup)
    return builtin(spirv::BuiltIn::LocalInvocationIndex, "thread", -1);
  capabilities_.insert(spirv::Capability::GroupNonUniform);
  Site c = site();
  Value subgroup = builtin(spirv::BuiltIn::SubgroupId, "subgroup", -1);
  Value lane = builtin(spirv::BuiltIn::SubgroupLocalInvocationId, "lane", -1);
  return c.make<spirv::IAddOp>(
      c.i32(), c.make<spirv::IMulOp>(c.i32(), subgroup, c.word(facts_.subgroup)), lane);
}

Value Emitter::programId(int axis) {
  Site c = site();
  Value group = builtin(spirv::BuiltIn::WorkgroupId, "workgroup", axis);
  Value base = argumentWord(result_.bufferCount + result_.scalarCount + 3 + axis);
  return c.make<spirv::IAddOp>(c.i64(), c.make<spirv::UConvertOp>(c.i64(), group), base);
}

Value Emitter::shuffle(sched::ShuffleOp op) {
  capabilities_.insert(spirv::Capability::GroupNonUniform);
  capabilities_.insert(spirv::Capability::GroupNonUniformShuffle);
  Site c = site();
  return spirv::GroupNonUniformShuffleXorOp::create(b_, loc_, op.getType(), spirv::Scope::Subgroup,
                                                    scalar(op.getValue()),
                                                    c.word(static_cast<int64_t>(op.getMask())));
}

void Emitter::barrier() {
  using S = spirv::MemorySemantics;
  spirv::ControlBarrierOp::create(b_, loc_, spirv::Scope::Workgroup, spirv::Scope::Workgroup,
                                  S::AcquireRelease | S::WorkgroupMemory | S::MakeAvailable |
                                      S::MakeVisible);
}

// ---- operations ----

LogicalResult Emitter::emitConstant(arith::ConstantOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  auto add = [&](Attribute value) {
    if (auto real = dyn_cast<FloatAttr>(value); real && element.isF32())
      return values_[op.getResult()].push_back(spirv::ConstantOp::create(b_, loc_, element, real));
    APInt bits = isa<FloatAttr>(value) ? cast<FloatAttr>(value).getValue().bitcastToAPInt()
                                       : cast<IntegerAttr>(value).getValue();
    values_[op.getResult()].push_back(
        element.isInteger(1)
            ? site().boolean(!bits.isZero())
            : site().integer(carrierOf(element), static_cast<int64_t>(bits.getZExtValue())));
  };
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue()))
    for (Attribute value : dense.getValues<Attribute>())
      add(value);
  else
    add(op.getValue());
  return success();
}

LogicalResult Emitter::emitElementwise(Operation *op) {
  if (op->getNumResults() != 1)
    return op->emitOpError() << "has no form in SPIR-V";
  const Native native = {facts_.has("float16"), facts_.has("fma"), facts_.has("float64")};
  if (isa<math::FmaOp>(op) && !native.fma && native.wide)
    capabilities_.insert(spirv::Capability::Float64);
  auto vector = dyn_cast<VectorType>(op->getResult(0).getType());
  Scalars results;
  for (int64_t i = 0; i < (vector ? vector.getNumElements() : 1); ++i) {
    SmallVector<Value> x;
    for (Value operand : op->getOperands()) {
      const Scalars &elements = values_.find(operand)->second;
      x.push_back(elements.size() == 1 ? elements.front() : elements[i]);
    }
    results.push_back(elementOf(site(), op, x, native));
    if (!results.back())
      return op->emitOpError() << "has no form in SPIR-V";
  }
  values_[op->getResult(0)] = std::move(results);
  return success();
}

static LogicalResult defined(Value value) {
  return success(static_cast<bool>(value));
}

LogicalResult Emitter::emit(Operation *op) {
  loc_ = op->getLoc();
  auto known = [&](Value now) {
    if (now)
      define(op->getResult(0), now);
    return defined(now);
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::GridOp) { return success(); })
      .Case([&](tile::ProgramIdOp o) { return known(programId(static_cast<int>(o.getAxis()))); })
      .Case([&](tile::DimOp o) { return known(viewWord(o, o.getView(), false, o.getAxis())); })
      .Case([&](sched::StrideOp o) { return known(viewWord(o, o.getView(), true, o.getAxis())); })
      .Case([&](sched::ThreadOp) { return known(thread()); })
      .Case([&](sched::ShuffleOp o) { return known(shuffle(o)); })
      .Case([&](sched::BarrierOp) { return barrier(), success(); })
      .Case([&](sched::ViewLoadOp o) { return emitLoad(o); })
      .Case([&](sched::ViewStoreOp o) { return emitStore(o); })
      .Case([&](sched::SharedLoadOp o) { return emitSharedLoad(o); })
      .Case([&](sched::SharedStoreOp o) { return emitSharedStore(o); })
      .Case([&](scf::ForOp o) { return emitFor(o); })
      .Case([&](scf::IfOp o) { return emitIf(o); })
      .Case([&](arith::ConstantOp o) { return emitConstant(o); })
      .Case([&](vector::FromElementsOp o) {
        values_[o.getResult()] = flattened(o.getElements());
        return success();
      })
      .Case([&](vector::ExtractOp o) { return emitExtract(o); })
      .Case([&](vector::BroadcastOp o) {
        values_[o.getResult()] =
            Scalars(o.getResultVectorType().getNumElements(), scalar(o.getSource()));
        return success();
      })
      .Case([&](vector::BitCastOp o) {
        unsigned bits = bitsInMemory(getElementTypeOrSelf(o.getSource().getType()));
        values_[o.getResult()] = elementsOf(piecesOf(o.getSource(), bits), bits, o.getType());
        return success();
      })
      .Default([&](Operation *o) -> LogicalResult {
        if (isa<arith::ArithDialect, math::MathDialect>(o->getDialect()))
          return emitElementwise(o);
        return o->emitOpError() << "has no form in SPIR-V, expected the lane form";
      });
}

LogicalResult Emitter::emitExtract(vector::ExtractOp op) {
  ArrayRef<int64_t> position = op.getStaticPosition();
  if (op.hasDynamicPosition() || position.size() != 1)
    return op.emitOpError() << "has a position of " << position.size()
                            << " numbers or one that varies, expected one constant";
  define(op.getResult(), values_.find(op.getSource())->second[position.front()]);
  return success();
}

// ---- structure ----

Emitter::Scalars Emitter::flattened(ValueRange values) {
  Scalars flat;
  for (Value value : values)
    llvm::append_range(flat, values_.find(value)->second);
  return flat;
}

SmallVector<Type> Emitter::flatTypes(TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    auto vector = dyn_cast<VectorType>(type);
    flat.append(vector ? vector.getNumElements() : 1, carrierOf(getElementTypeOrSelf(type)));
  }
  return flat;
}

void Emitter::bindFlat(ValueRange old, ValueRange flat) {
  for (Value value : old) {
    auto vector = dyn_cast<VectorType>(value.getType());
    int64_t count = vector ? vector.getNumElements() : 1;
    values_[value] = Scalars(flat.take_front(count));
    flat = flat.drop_front(count);
  }
}

LogicalResult Emitter::emitFor(scf::ForOp loop) {
  SmallVector<Type> types = flatTypes(loop.getResultTypes());
  auto now = spirv::LoopOp::create(b_, loc_, types, spirv::LoopControl::None);
  Scalars state = flattened(loop.getInitArgs());
  state.insert(state.begin(), scalar(loop.getLowerBound()));
  Value upper = scalar(loop.getUpperBound()), step = scalar(loop.getStep());
  types.insert(types.begin(), upper.getType());
  OpBuilder::InsertionGuard guard(b_);
  Region &region = now.getBody();
  Block *entry = b_.createBlock(&region);
  Block *header = b_.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc_));
  ArrayRef<Type> stateTypes = ArrayRef<Type>(types).drop_front();
  Block *body = b_.createBlock(&region);
  Block *next =
      b_.createBlock(&region, {}, stateTypes, SmallVector<Location>(stateTypes.size(), loc_));
  Block *merge = b_.createBlock(&region);
  ValueRange iterated = header->getArguments().drop_front();
  Value number = header->getArgument(0);
  b_.setInsertionPointToEnd(entry);
  spirv::BranchOp::create(b_, loc_, header, state);
  b_.setInsertionPointToEnd(header);
  Value more = loop.getUnsignedCmp()
                   ? site().make<spirv::ULessThanOp>(b_.getI1Type(), number, upper)
                   : site().make<spirv::SLessThanOp>(b_.getI1Type(), number, upper);
  spirv::BranchConditionalOp::create(b_, loc_, more, body, ValueRange(), merge, ValueRange());
  b_.setInsertionPointToEnd(merge);
  spirv::MergeOp::create(b_, loc_, iterated);
  define(loop.getInductionVar(), number);
  bindFlat(loop.getRegionIterArgs(), iterated);
  b_.setInsertionPointToEnd(body);
  if (failed(emitBlock(*loop.getBody())))
    return failure();
  // The serializer knows results of loops in a phi only where the phi comes after them.
  spirv::BranchOp::create(b_, loc_, next,
                          flattened(loop.getBody()->getTerminator()->getOperands()));
  b_.setInsertionPointToEnd(next);
  Scalars after(next->getArguments().begin(), next->getArguments().end());
  after.insert(after.begin(), site().make<spirv::IAddOp>(number.getType(), number, step));
  spirv::BranchOp::create(b_, loc_, header, after);
  bindFlat(loop.getResults(), now.getResults());
  return success();
}

LogicalResult Emitter::emitIf(scf::IfOp branch) {
  SmallVector<Type> types = flatTypes(branch.getResultTypes());
  auto now = spirv::SelectionOp::create(b_, loc_, types, spirv::SelectionControl::None);
  OpBuilder::InsertionGuard guard(b_);
  Region &region = now.getBody();
  Block *head = b_.createBlock(&region), *then = b_.createBlock(&region);
  Block *otherwise = branch.getElseRegion().empty() ? nullptr : b_.createBlock(&region);
  Block *merge = b_.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc_));
  spirv::MergeOp::create(b_, loc_, merge->getArguments());
  b_.setInsertionPointToEnd(head);
  spirv::BranchConditionalOp::create(b_, loc_, scalar(branch.getCondition()), then, ValueRange(),
                                     otherwise ? otherwise : merge, ValueRange());
  for (auto [from, to] :
       {std::pair(&branch.getThenRegion(), then), std::pair(&branch.getElseRegion(), otherwise)}) {
    if (!to)
      continue;
    b_.setInsertionPointToEnd(to);
    if (failed(emitBlock(from->front())))
      return failure();
    spirv::BranchOp::create(b_, loc_, merge,
                            flattened(from->front().getTerminator()->getOperands()));
  }
  bindFlat(branch.getResults(), now.getResults());
  return success();
}

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (isa<scf::YieldOp>(op))
      continue;
    if (!isa<sched::ViewStoreOp, sched::SharedStoreOp>(op) &&
        (op.getNumRegions() || !isMemoryEffectFree(&op)))
      flushWrites();
    if (failed(emit(&op)))
      return failure();
  }
  flushWrites();
  return success();
}

FailureOr<EmittedKernel> Emitter::run() {
  if (failed(readAttributes()) || failed(checkTypes()))
    return failure();
  Block &body = kernel_.getBody().front();
  spirv::FuncOp function = makeFunction();
  bindArguments(body);
  b_.setInsertionPointToEnd(&function.getBody().front());
  if (failed(emitBlock(body)))
    return failure();
  finishEntryPoint(function);
  return result_;
}

// ---- modules ----

static LogicalResult expandDivisions(ModuleOp module) {
  RewritePatternSet divisions(module.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(divisions);
  return applyPatternsGreedily(module, std::move(divisions));
}

static LogicalResult simplify(spirv::ModuleOp module) {
  PassManager passes(module.getContext(), spirv::ModuleOp::getOperationName());
  passes.addPass(createCSEPass());
  return passes.run(module);
}

Result<EmittedModule> emitSpirv(ModuleOp lanes, const VulkanFacts &facts) {
  MLIRContext *context = lanes.getContext();
  context->loadDialect<spirv::SPIRVDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> source(cast<ModuleOp>(lanes->clone()));
  if (failed(expandDivisions(*source)))
    return fail(sinter::Code::Internal, "the kernels' divisions could not be expanded");
  OpBuilder b(context);
  EmittedModule result;
  result.module =
      spirv::ModuleOp::create(b, lanes.getLoc(), spirv::AddressingModel::PhysicalStorageBuffer64,
                              spirv::MemoryModel::Vulkan, std::nullopt);
  Capabilities capabilities = {spirv::Capability::Shader, spirv::Capability::Int64,
                               spirv::Capability::PhysicalStorageBufferAddresses,
                               spirv::Capability::VulkanMemoryModel};
  for (auto kernel : source->getOps<tile::KernelOp>()) {
    FailureOr<EmittedKernel> one = Emitter(kernel, *result.module, facts, capabilities).run();
    if (failed(one))
      return fail(sinter::Code::Unsupported, "kernel '" + kernel.getSymName().str() +
                                                 "' could not be emitted for " + facts.name());
    result.kernels.push_back(*one);
  }
  result.module->setVceTripleAttr(
      spirv::VerCapExtAttr::get(spirv::Version::V_1_5, llvm::to_vector(capabilities), {}, context));
  if (failed(simplify(*result.module)) || failed(verify(*result.module)))
    return fail(sinter::Code::Internal, "the kernels' SPIR-V is not well formed");
  return result;
}

} // namespace sinter::target::vulkan
