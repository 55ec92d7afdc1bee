// Emission, cooperative matrices: accumulators are variables of the function, operands are loaded
// where they are multiplied.
#include "sched/simt/matrix_instructions.h"
#include "targets/vulkan/emitter.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::vulkan {

static constexpr int64_t kPiece = 16; // bytes of a unit of shared memory

static spirv::MemoryAccessAttr shared(OpBuilder &b) {
  return spirv::MemoryAccessAttr::get(b.getContext(), spirv::MemoryAccess::NonPrivatePointer);
}

FailureOr<CooperativeTypes> Emitter::cooperativeTypes(Operation *op, StringRef name) {
  const sched::MatrixInstruction *row = sched::findMatrixInstruction(name);
  if (!row || !llvm::is_contained(facts_.matrixInstructions(), std::string_view(name)))
    return op->emitOpError() << "names '" << name << "', expected an instruction of the device";
  MLIRContext *context = op->getContext();
  auto type = [&](Type fragment, int64_t rows, int64_t columns,
                  spirv::CooperativeMatrixUseKHR use) {
    return spirv::CooperativeMatrixType::get(
        getElementTypeOrSelf(fragment), static_cast<uint32_t>(rows), static_cast<uint32_t>(columns),
        spirv::Scope::Subgroup, use);
  };
  using Use = spirv::CooperativeMatrixUseKHR;
  CooperativeTypes types{type(row->typeA(context), row->m, row->k, Use::MatrixA),
                         type(row->typeB(context), row->k, row->n, Use::MatrixB),
                         type(row->typeC(context), row->m, row->n, Use::MatrixAcc)};
  using spirv::Capability;
  capabilities_.insert(Capability::CooperativeMatrixKHR);
  if (types.a.getElementType().isBF16())
    capabilities_.insert({Capability::BFloat16TypeKHR, Capability::BFloat16CooperativeMatrixKHR});
  else
    capabilities_.insert(Capability::Float16);
  return types;
}

Value Emitter::accumulatorsVariable(uint64_t number, Type type) {
  Value &variable = accumulators_[number];
  if (variable)
    return variable;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(entry_->getBlock());
  variable = spirv::VariableOp::create(b_, loc_,
                                       spirv::PointerType::get(type, spirv::StorageClass::Function),
                                       spirv::StorageClass::Function, Value());
  return variable;
}

LogicalResult Emitter::emitAccClear(sched::AccClearOp op) {
  FailureOr<CooperativeTypes> types = cooperativeTypes(op, op.getInstruction());
  if (failed(types))
    return failure();
  Value zero = spirv::CompositeConstructOp::create(b_, loc_, types->accumulators,
                                                   ValueRange(site().real(0)));
  for (uint64_t number = 0; number < op.getCount(); ++number)
    spirv::StoreOp::create(b_, loc_,
                           accumulatorsVariable(op.getFirst() + number, types->accumulators), zero);
  return success();
}

// Rows of a are rows of memory, rows of b [n, k] the columns of what is multiplied.
SmallVector<Value> Emitter::operandMatrices(Value byte, Type type, int64_t rowBytes,
                                            int64_t stepBytes, int64_t count, bool columns) {
  Site c = site();
  auto layout = columns ? spirv::CooperativeMatrixLayoutKHR::ColumnMajor
                        : spirv::CooperativeMatrixLayoutKHR::RowMajor;
  SmallVector<Value> matrices;
  for (int64_t i = 0; i < count; ++i)
    matrices.push_back(spirv::KHRCooperativeMatrixLoadOp::create(
        b_, loc_, type, sharedPiece(byte, i * stepBytes / kPiece),
        spirv::CooperativeMatrixLayoutKHRAttr::get(b_.getContext(), layout),
        c.word(rowBytes / kPiece), shared(b_), IntegerAttr()));
  return matrices;
}

LogicalResult Emitter::emitAccAdd(sched::AccAddOp op) {
  declareShared();
  FailureOr<CooperativeTypes> types = cooperativeTypes(op, op.getInstruction());
  if (failed(types))
    return failure();
  if (!shared_.variable)
    return op.emitOpError() << "reads shared memory, of which the kernel declares none";
  ArrayRef<int64_t> rows = op.getRows(), steps = op.getSteps(), counts = op.getCounts();
  SmallVector<Value> a = operandMatrices(scalar(op.getA()), types->a, rows[0], steps[0], counts[0],
                                         false),
                     b = operandMatrices(scalar(op.getB()), types->b, rows[1], steps[1], counts[1],
                                         true);
  uint64_t number = op.getFirst();
  for (Value left : a)
    for (Value right : b) {
      Value variable = accumulatorsVariable(number++, types->accumulators);
      Value sum = spirv::LoadOp::create(b_, loc_, variable);
      sum = spirv::KHRCooperativeMatrixMulAddOp::create(b_, loc_, types->accumulators, left, right,
                                                        sum,
                                                        spirv::CooperativeMatrixOperandsKHRAttr());
      spirv::StoreOp::create(b_, loc_, variable, sum);
    }
  return success();
}

void Emitter::subgroupBarrier() {
  using S = spirv::MemorySemantics;
  spirv::ControlBarrierOp::create(b_, loc_, spirv::Scope::Subgroup, spirv::Scope::Subgroup,
                                  S::AcquireRelease | S::WorkgroupMemory | S::MakeAvailable |
                                      S::MakeVisible);
}

// The table has the elements of each lane side by side, lane after lane.
LogicalResult Emitter::emitAccTake(sched::AccTakeOp op) {
  declareShared();
  FailureOr<CooperativeTypes> types = cooperativeTypes(op, op.getInstruction());
  if (failed(types))
    return failure();
  if (!shared_.variable)
    return op.emitOpError() << "writes shared memory, of which the kernel declares none";
  Site c = site();
  int64_t each = cast<VectorType>(op.getType()).getNumElements() * 4;
  int64_t rowBytes = int64_t(types->accumulators.getColumns()) * 4;
  Value byte = scalar(op.getByte());
  Value sum =
      spirv::LoadOp::create(b_, loc_, accumulatorsVariable(op.getNumber(), types->accumulators));
  subgroupBarrier();
  spirv::KHRCooperativeMatrixStoreOp::create(
      b_, loc_, sharedPiece(byte, 0), sum,
      spirv::CooperativeMatrixLayoutKHRAttr::get(b_.getContext(),
                                                 spirv::CooperativeMatrixLayoutKHR::RowMajor),
      c.word(rowBytes / kPiece), shared(b_), IntegerAttr());
  subgroupBarrier();
  Value lane = builtin(spirv::BuiltIn::SubgroupLocalInvocationId, "lane", -1);
  Value own =
      c.make<spirv::IAddOp>(c.i32(), byte, c.make<spirv::IMulOp>(c.i32(), lane, c.word(each)));
  values_[op.getResult()] = elementsOf(sharedPieces(own, each), 32, op.getType());
  return success();
}

} // namespace sinter::targets::vulkan
