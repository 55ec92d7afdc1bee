// Emission, the walk: an entry point for each kernel, one piece of SPIR-V for each SIMT operation.
#include "targets/vulkan/emit_spirv.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "sched/simt/layout.h"
#include "targets/vulkan/arithmetic.h"
#include "targets/vulkan/binary.h"
#include "targets/vulkan/emitter.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::vulkan {

LogicalResult Emitter::readAttributes() {
  FailureOr<int64_t> threads = sched::threadsOf(kernel_, facts_.threads);
  auto shared = kernel_->getAttrOfType<IntegerAttr>(sched::kSharedName);
  if (failed(threads))
    return failure();
  if (shared && (shared.getInt() < 0 || shared.getInt() > facts_.sharedBytes))
    return kernel_.emitOpError() << "needs " << shared.getInt()
                                 << " bytes of shared memory, expected at most "
                                 << facts_.sharedBytes;
  result_.symbol = kernel_.getSymName().str();
  result_.threads = *threads;
  result_.sharedBytes = shared ? shared.getInt() : 0;
  kernel_.walk([&](Operation *op) {
    shuffles_ |= isa<sched::ShuffleOp, sched::AccTakeOp>(op);
    shared_.inPieces |= isa<sched::AccAddOp, sched::AccTakeOp>(op);
  });
  roundsToBfloat16_ = facts_.has("bfloat16") && facts_.has("even16");
  return success();
}

// Views, scalars, and vectors of one dimension.
static bool hasForm(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 && !vector.isScalable() && carrierOf(vector.getElementType());
  return isa<tile::ViewType>(type) || carrierOf(type);
}

LogicalResult Emitter::checkTypes() {
  WalkResult walked = kernel_.walk([&](Operation *op) {
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (!hasForm(type)) {
          op->emitOpError() << "works on " << type << ", which has no form in SPIR-V";
          return WalkResult::interrupt();
        }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
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
  const Native native = {facts_.has("float16"), roundsToBfloat16_, facts_.has("fma"),
                         facts_.has("float64")};
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
      .Case([&](sched::TableLoadOp o) { return known(tableWord(o)); })
      .Case([&](sched::PermuteBytesOp o) { return known(permutedBytes(o)); })
      .Case([&](sched::ViewStoreOp o) { return emitStore(o); })
      .Case([&](sched::SharedLoadOp o) { return emitSharedLoad(o); })
      .Case([&](sched::SharedStoreOp o) { return emitSharedStore(o); })
      .Case([&](sched::AccClearOp o) { return emitAccClear(o); })
      .Case([&](sched::AccAddOp o) { return emitAccAdd(o); })
      .Case([&](sched::AccTakeOp o) { return emitAccTake(o); })
      .Case([&](sched::MatrixOp o) {
        return o.emitOpError() << "names '" << o.getInstruction()
                               << "', expected products without matrix instructions on Vulkan";
      })
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
        return o->emitOpError() << "has no form in SPIR-V, expected SIMT IR";
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
  if (!constants_.empty())
    addConstants(module_, result_.symbol, constants_);
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
  if (failed(passes.run(module)))
    return failure();
  // What was built of values that nothing came to need, last use first.
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  return success();
}

Result<EmittedModule> emitSpirv(ModuleOp simt, const VulkanFacts &facts) {
  MLIRContext *context = simt.getContext();
  context->loadDialect<spirv::SPIRVDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> source(cast<ModuleOp>(simt->clone()));
  if (failed(expandDivisions(*source)))
    return fail(sinter::Code::Internal, "the kernels' divisions could not be expanded");
  OpBuilder b(context);
  EmittedModule result;
  result.module =
      spirv::ModuleOp::create(b, simt.getLoc(), spirv::AddressingModel::PhysicalStorageBuffer64,
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
  result.module->setVceTripleAttr(tripleOf(capabilities, context));
  if (failed(simplify(*result.module)) || failed(verify(*result.module)))
    return fail(sinter::Code::Internal, "the kernels' SPIR-V is not well formed");
  return result;
}

} // namespace sinter::targets::vulkan
