// Counts vectors of blocks and bytes of buffers.
#include "tile/mlir_pch.h"

#include "sched/sched.h"
#include "targets/cpu/blocking/verify_budget.h"

using namespace mlir;

namespace sinter::targets::cpu {

// Vectors that a block of this type fills: lanes run along the last axis with more than one
// element.
static int64_t vectorsOf(RankedTensorType type, int64_t lanes) {
  int64_t lane = type.getRank() - 1;
  while (lane > 0 && type.getDimSize(lane) == 1)
    --lane;
  int64_t vectors = 1;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    vectors *=
        axis == lane ? llvm::divideCeil(type.getDimSize(axis), lanes) : type.getDimSize(axis);
  return vectors;
}

// What a dot reads element by element from memory takes no register.
static bool isReadByDots(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    return isa<tile::DotOp>(use.getOwner()) && use.getOperandNumber() == 0;
  });
}

// What only slices read is dequantized where they take it.
static bool isReadBySlices(Value value) {
  return value.getDefiningOp<tile::DequantizeOp>() &&
         llvm::all_of(value.getUsers(), [](Operation *user) { return isa<tile::SliceOp>(user); });
}

// Pairs are made of their numbers vector by vector, as these are widened, rounded or dequantized.
static bool isReadByPairs(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<sched::PairOp>(user) ||
           (isa<arith::ExtFOp, arith::TruncFOp, tile::ReshapeOp>(user) &&
            isReadByPairs(user->getResult(0)));
  });
}

// Panels go to scratch register by register, and matmuls read them so.
static bool isPanel(Value value) {
  return isa_and_nonnull<sched::ExpandOp, sched::TotalScalesOp>(value.getDefiningOp()) ||
         sched::isReadAsPanel(value);
}

static LogicalResult verifyBlock(Operation *op, Value value, const CpuFacts &facts) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || isa<tile::BlockType>(type.getElementType()) || isReadByDots(value) ||
      isReadBySlices(value) || isReadByPairs(value) || isPanel(value))
    return success();
  int64_t vectors = vectorsOf(type, facts.lanes);
  if (vectors <= facts.accumulatorBudget())
    return success();
  return op->emitOpError() << "holds a register block of " << type << ", which is " << vectors
                           << " vectors of " << facts.lanes << " elements, expected at most "
                           << facts.accumulatorBudget() << ", three quarters of " << facts.registers
                           << " registers";
}

static LogicalResult verifyScratch(tile::KernelOp kernel) {
  int64_t total = 0;
  LogicalResult result = success();
  kernel.walk([&](sched::AllocOp alloc) {
    auto type = cast<sched::BufferType>(alloc.getResult().getType());
    int64_t bytes = 0, unit = llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    int64_t elements = 1;
    for (int64_t extent : type.getShape())
      if (__builtin_mul_overflow(elements, extent, &elements))
        elements = kMostScratchBytes + 1;
    if (elements <= kMostScratchBytes)
      elements = std::max(elements, type.getSpan());
    if (__builtin_mul_overflow(elements, unit, &bytes) ||
        __builtin_add_overflow(total, bytes, &total) || total > kMostScratchBytes) {
      result = alloc.emitOpError() << "takes the kernel's scratch beyond " << kMostScratchBytes
                                   << " bytes a thread; use smaller tiles";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result;
}

LogicalResult verifyBudget(tile::KernelOp kernel, const CpuFacts &facts) {
  if (failed(verifyScratch(kernel)))
    return failure();
  WalkResult walked = kernel.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (failed(verifyBlock(op, result, facts)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace sinter::targets::cpu
