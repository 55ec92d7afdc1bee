// Distribution, matmuls whose accumulators lie where only the processor knows: operands to shared
// memory, and the accumulators' fragments, which no register holds until they are taken.
#include "base/check.h"
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/dot_layouts.h"

using namespace mlir;

namespace sinter::sched {

static RankedTensorType tileOf(Value pipeline) {
  return cast<PipelineType>(pipeline.getType()).getTile();
}

LogicalResult Distributor::emitStageStore(StageStoreOp op) {
  const PipelineBuffer &pipeline = pipelines_.find(op.getPipeline().getDefiningOp())->second;
  if (pipeline.swizzled)
    return storePieces(op, pipeline);
  Type element = tileOf(op.getPipeline()).getElementType();
  SharedTile shared{{pipeline.rowBytes / elementBytes(element), 1}, pipeline.base, element};
  step_ = mul(scalarOf(op.getStage()), int32(pipeline.stageBytes));
  put(shared, SimtLayout::of(op.getValue().getType()), registersOf(op.getValue()), {0, 0}, {0, 1});
  step_ = {};
  return success();
}

LogicalResult Distributor::emitStageAccumulate(StageAccumulateOp op) {
  const PipelineBuffer &left = pipelines_.find(op.getA().getDefiningOp())->second,
                       &right = pipelines_.find(op.getB().getDefiningOp())->second;
  const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
  SINTER_CHECK(instruction && instruction->opaqueAccumulators);
  RankedTensorType a = tileOf(op.getA()), b = tileOf(op.getB());
  int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  SmallVector<int64_t> shape{a.getDimSize(0), b.getDimSize(0)};
  SimtLayout accumulators = sharedAccumulators(*instruction, shape, threads);
  auto counts = fragmentCounts(*instruction, shape, threads);
  Value atA = add(stageByte(left, op.getStage()),
                  operandStart(accumulators, *instruction, 0, left.rowBytes)),
        atB = add(stageByte(right, op.getStage()),
                  operandStart(accumulators, *instruction, 1, right.rowBytes));
  int64_t stepBytes = instruction->k * elementBytes(a.getElementType());
  for (int64_t k = 0; k < a.getDimSize(1) / instruction->k; ++k)
    AccAddOp::create(b_, loc_, op.getInstruction(), add(atA, int32(k * stepBytes)),
                     add(atB, int32(k * stepBytes)),
                     ArrayRef<int64_t>{left.rowBytes, right.rowBytes},
                     ArrayRef<int64_t>{accumulators.atom(0) * left.rowBytes,
                                       accumulators.atom(1) * right.rowBytes},
                     ArrayRef<int64_t>(counts), op.getFirst());
  return success();
}

// Each subgroup has room of its own for one fragment.
LogicalResult Distributor::emitAccRead(AccReadOp op) {
  const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
  SINTER_CHECK(instruction && instruction->opaqueAccumulators);
  SimtLayout accumulators = SimtLayout::of(op.getResult().getType());
  Type element = getElementTypeOrSelf(instruction->typeC(op.getContext()));
  int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  int64_t bytes = instruction->m * instruction->n * elementBytes(element);
  int64_t end = pipelineEnd_ + threads / instruction->lanes * bytes;
  if (end > facts_.maxShared)
    return op->emitOpError() << "needs " << end << " bytes of shared memory, expected at most "
                             << facts_.maxShared << ": choose smaller blocks";
  shared_ = std::max(shared_, end);
  claimShared();
  Value subgroup =
      b_.createOrFold<arith::ShRUIOp>(loc_, thread_, int32(llvm::Log2_64(instruction->lanes)));
  Value own = add(mul(subgroup, int32(bytes)), int32(pipelineEnd_));
  Registers registers(accumulators.registers());
  int64_t count = int64_t(1) << accumulators.registerBits().size();
  auto number = static_cast<int64_t>(op.getFirst());
  for (int64_t m = 0; m < accumulators.shape()[0]; m += accumulators.atom(0))
    for (int64_t n = 0; n < accumulators.shape()[1]; n += accumulators.atom(1)) {
      Value taken = AccTakeOp::create(b_, loc_, instruction->typeC(op.getContext()),
                                      op.getInstruction(), number++, own);
      llvm::copy(scalarsOf(taken, count), registers.begin() + accumulators.registerAt({m, n}));
    }
  registers_[op.getResult()] = std::move(registers);
  return success();
}

} // namespace sinter::sched
