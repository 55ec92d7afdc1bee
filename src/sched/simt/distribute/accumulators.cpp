// Distribution, products whose sums lie where the processor alone knows: operands to shared memory,
// and the sums' fragments, which no register holds until they are taken.
#include "base/check.h"
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/dot_layouts.h"

using namespace mlir;

namespace sinter::sched {

static RankedTensorType tileOf(Value ring) {
  return cast<RingType>(ring.getType()).getTile();
}

LogicalResult Distributor::emitRingPut(RingPutOp op) {
  const PipelineBuffer &ring = rings_.find(op.getRing().getDefiningOp())->second;
  Type element = tileOf(op.getRing()).getElementType();
  SharedTile shared{{ring.rowBytes / elementBytes(element), 1}, ring.base, element};
  step_ = mul(scalarOf(op.getPlace()), int32(ring.placeBytes));
  put(shared, SimtLayout::of(op.getValue().getType()), registersOf(op.getValue()), {0, 0}, {0, 1});
  step_ = {};
  return success();
}

LogicalResult Distributor::emitRingAdd(RingAddOp op) {
  const PipelineBuffer &left = rings_.find(op.getA().getDefiningOp())->second,
                 &right = rings_.find(op.getB().getDefiningOp())->second;
  const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
  SINTER_CHECK(instruction && instruction->opaqueSums);
  RankedTensorType a = tileOf(op.getA()), b = tileOf(op.getB());
  int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  SmallVector<int64_t> shape{a.getDimSize(0), b.getDimSize(0)};
  SimtLayout sums = sharedSums(*instruction, shape, threads);
  auto counts = fragmentCounts(*instruction, shape, threads);
  Value atA =
            add(placeByte(left, op.getPlace()), operandStart(sums, *instruction, 0, left.rowBytes)),
        atB = add(placeByte(right, op.getPlace()),
                  operandStart(sums, *instruction, 1, right.rowBytes));
  int64_t stepBytes = instruction->k * elementBytes(a.getElementType());
  for (int64_t k = 0; k < a.getDimSize(1) / instruction->k; ++k)
    SumsAddOp::create(
        b_, loc_, op.getInstruction(), add(atA, int32(k * stepBytes)),
        add(atB, int32(k * stepBytes)), ArrayRef<int64_t>{left.rowBytes, right.rowBytes},
        ArrayRef<int64_t>{sums.atom(0) * left.rowBytes, sums.atom(1) * right.rowBytes},
        ArrayRef<int64_t>(counts), op.getFirst());
  return success();
}

// Each subgroup has room of its own for one fragment.
LogicalResult Distributor::emitSumsRead(SumsReadOp op) {
  const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
  SINTER_CHECK(instruction && instruction->opaqueSums);
  SimtLayout sums = SimtLayout::of(op.getResult().getType());
  Type element = getElementTypeOrSelf(instruction->typeC(op.getContext()));
  int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  int64_t bytes = instruction->m * instruction->n * elementBytes(element);
  int64_t end = ringEnd_ + threads / instruction->lanes * bytes;
  if (end > facts_.maxShared)
    return op->emitOpError() << "needs " << end << " bytes of shared memory, expected at most "
                             << facts_.maxShared << ": choose smaller blocks";
  shared_ = std::max(shared_, end);
  claimShared();
  Value subgroup =
      b_.createOrFold<arith::ShRUIOp>(loc_, thread_, int32(llvm::Log2_64(instruction->lanes)));
  Value own = add(mul(subgroup, int32(bytes)), int32(ringEnd_));
  Registers registers(sums.registers());
  int64_t count = int64_t(1) << sums.registerBits().size();
  auto number = static_cast<int64_t>(op.getFirst());
  for (int64_t m = 0; m < sums.shape()[0]; m += sums.atom(0))
    for (int64_t n = 0; n < sums.shape()[1]; n += sums.atom(1)) {
      Value taken = SumsTakeOp::create(b_, loc_, instruction->typeC(op.getContext()),
                                       op.getInstruction(), number++, own);
      llvm::copy(scalarsOf(taken, count), registers.begin() + sums.registerAt({m, n}));
    }
  registers_[op.getResult()] = std::move(registers);
  return success();
}

} // namespace sinter::sched
