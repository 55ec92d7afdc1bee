// Operands become words where they are made, so that one that lives in scratch is paired once.
#include "tile/mlir_pch.h"

#include "sched/sched.h"
#include "targets/cpu/emission/pair_dots.h"

using namespace mlir;

namespace sinter::targets::cpu {

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

// Elements along K that are whole vectors of words; 0 where the processor has no such product.
static int64_t pairedDepth(const CpuFacts &facts) {
  return facts.instructions.bfloatDot ? 2 * facts.lanes : 0;
}

// Words of either operand are whole vectors along K where K turns, columns are where it does not.
static bool isPaired(tile::DotOp dot, const CpuFacts &facts) {
  RankedTensorType a = typeOf(dot.getA()), b = typeOf(dot.getB()), acc = typeOf(dot.getAcc());
  const int64_t depth = pairedDepth(facts);
  return depth && a.getElementType().isBF16() && b.getElementType().isBF16() &&
         a.getDimSize(1) % depth == 0 && acc.getDimSize(1) % facts.lanes == 0;
}

// What pairs are made of: without a rounding that pairing does too.
static Value unrounded(Value value) {
  auto narrowed = value.getDefiningOp<arith::TruncFOp>();
  return narrowed && typeOf(narrowed.getIn()).getElementType().isF32() ? narrowed.getIn() : value;
}

namespace {

// The words of operands on one side of dots, each made once however many read it. The other side
// lays its own out otherwise.
class Pairs {
public:
  explicit Pairs(MLIRContext *context) : b_(context) {}

  Value of(Value value, int64_t axis) {
    Value &made = made_[{value, axis}];
    if (!made)
      made = make(value, axis);
    return made;
  }

private:
  Value make(Value value, int64_t axis) {
    b_.setInsertionPointAfterValue(value);
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape[axis] /= 2;
    return sched::PairOp::create(b_, value.getLoc(), RankedTensorType::get(shape, b_.getI32Type()),
                                 unrounded(value), axis);
  }

  OpBuilder b_;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> made_;
};

} // namespace

void pairDots(tile::KernelOp kernel, const CpuFacts &facts) {
  Pairs ofA(kernel.getContext()), ofB(kernel.getContext());
  llvm::SetVector<Operation *> before;
  auto replace = [&](OpOperand &operand, Value words) {
    if (Operation *made = operand.get().getDefiningOp())
      before.insert(made);
    operand.assign(words);
  };
  kernel.walk([&](tile::DotOp dot) {
    if (!isPaired(dot, facts))
      return;
    replace(dot.getAMutable(), ofA.of(dot.getA(), 1));
    replace(dot.getBMutable(), ofB.of(dot.getB(), dot.getTransposeB() ? 1 : 0));
  });
  for (Operation *op : before) // what nobody reads any more would count as a reader
    if (isOpTriviallyDead(op))
      op->erase();
}

} // namespace sinter::targets::cpu
