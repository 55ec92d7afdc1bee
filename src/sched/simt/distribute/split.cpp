// Distribution, matmuls of few rows: each subgroup multiplies its share of K, and accumulators
// meet in shared memory.
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/split_dots.h"

using namespace mlir;

namespace sinter::sched {

// The coordinate along K of one value of the bits in registers that are no instruction's own.
static int64_t spreadOver(ArrayRef<int64_t> bits, int64_t number) {
  int64_t at = 0;
  for (auto [index, bit] : llvm::enumerate(bits))
    at += (number >> index & 1) << bit;
  return at;
}

namespace {
/// One operand's registers, and which of them make a fragment.
struct SplitOperand {
  const Distributor::Registers &registers;
  const SimtLayout &layout;
  SimtLayout fragment;
  int depthAxis; // of the fragment

  SmallVector<Value> at(const SplitSimt &lanes, int64_t row, int64_t depth) const {
    SmallVector<Value> values;
    for (int64_t number = 0; number < fragment.registers(); ++number) {
      SmallVector<int64_t> coords = fragment.registerCoords(number);
      int64_t k = depth + spreadOver(lanes.depthBits, coords[depthAxis]);
      values.push_back(registers[layout.registerAt({row + coords[1 - depthAxis], k})]);
    }
    return values;
  }
};
} // namespace

LogicalResult Distributor::emitSplitDot(SplitDotOp op) {
  SplitSimt lanes = splitSimt(op);
  const MatrixInstruction &instruction = *lanes.instruction;
  Registers a = clearedBeyond(op.getA(), 1), b = clearedBeyond(op.getB(), 1),
            acc = registersOf(op.getAcc());
  SplitOperand left{a, lanes.a, instruction.layoutA(), 1},
      right{b, lanes.b, instruction.layoutB(), 0};
  const int64_t count = int64_t(1) << lanes.accumulators.registerBits().size();
  const int64_t more = int64_t(1) << lanes.moreBits.size();
  auto shape = lanes.accumulators.shape();
  for (int64_t step = 0; step < lanes.a.repeats(1) * more; ++step) {
    const int64_t depth = step / more * lanes.a.atom(1) + spreadOver(lanes.moreBits, step % more);
    for (int64_t m = 0; m < shape[1]; m += instruction.m) {
      Value rows = vectorFrom(left.at(lanes, m, depth));
      for (int64_t n = 0; n < shape[2]; n += instruction.n) {
        const int64_t first = lanes.accumulators.registerAt({0, m, n});
        Value sum = MatrixOp::create(b_, loc_, op.getInstruction(), rows,
                                     vectorFrom(right.at(lanes, n, depth)),
                                     vectorFrom(ArrayRef<Value>(acc).slice(first, count)));
        llvm::copy(scalarsOf(sum, count), acc.begin() + first);
      }
    }
  }
  registers_[op.getResult()] = std::move(acc);
  return success();
}

LogicalResult Distributor::emitJoinShares(JoinSharesOp op) {
  SimtLayout from = SimtLayout::of(op.getAccumulators().getType()),
             to = SimtLayout::of(op.getResult().getType());
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  const int64_t shares = from.shape()[0];
  SmallVector<Registers> parts(shares);
  auto write = [&](const SharedTile &memory) {
    put(memory, from, registersOf(op.getAccumulators()), {0, 0, 0}, {0, 1, 2});
  };
  auto read = [&](const SharedTile &memory) {
    for (auto [share, part] : llvm::enumerate(parts))
      take(memory, to, part, element, {static_cast<int64_t>(share), 0, 0}, {1, 2});
  };
  if (failed(exchange(op, placed(from.shape(), element, 0), write, read)))
    return failure();
  Registers accumulators = parts.front();
  for (const Registers &part : llvm::drop_begin(parts))
    for (auto [sum, each] : llvm::zip_equal(accumulators, part))
      sum = arith::AddFOp::create(b_, loc_, sum, each);
  registers_[op.getResult()] = std::move(accumulators);
  return success();
}

} // namespace sinter::sched
