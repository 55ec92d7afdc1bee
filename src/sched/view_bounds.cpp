// Bounds of views, folded where they are known.
#include "tile/mlir_pch.h"

#include "sched/view_bounds.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tile/tile.h"

using namespace mlir;

namespace sinter::sched {

// How far operands of operands are looked at.
static constexpr int kMostSteps = 8;

static bool isNotNegative(Value value, int steps);

static bool areNotNegative(ValueRange values, int steps) {
  return steps > 0 && llvm::all_of(values, [&](Value v) { return isNotNegative(v, steps - 1); });
}

// Counters of loops, and of programs: code is called with those alone as integers of 64 bits.
static bool isCounter(BlockArgument argument, int steps) {
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(owner))
    return argument == loop.getInductionVar() &&
           areNotNegative({loop.getLowerBound(), loop.getStep()}, steps);
  return isa<FunctionOpInterface>(owner) && !isa<tile::KernelOp>(owner) &&
         argument.getType().isInteger(64);
}

static bool isNotNegative(Value value, int steps) {
  if (auto constant = getConstantIntValue(value))
    return *constant >= 0;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isCounter(argument, steps);
  Operation *op = value.getDefiningOp();
  if (isa<tile::ProgramIdOp, tile::DimOp>(op))
    return true;
  if (isa<arith::IndexCastUIOp>(op))
    return op->getOperand(0).getType().isInteger(32);
  if (isa<arith::MaxSIOp>(op))
    return areNotNegative(op->getOperand(0), steps) || areNotNegative(op->getOperand(1), steps);
  return isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::DivUIOp, arith::RemUIOp,
             arith::IndexCastOp>(op) &&
         areNotNegative(op->getOperands(), steps);
}

bool isNotNegative(Value value) {
  return isNotNegative(value, kMostSteps);
}

namespace {

// Each operation once, however many paths lead to it.
class Divisors {
public:
  int64_t of(Value value, int steps) {
    if (auto constant = getConstantIntValue(value))
      return *constant == std::numeric_limits<int64_t>::min() ? 1 : std::abs(*constant);
    if (steps == 0)
      return 1;
    if (auto found = known_.find(value); found != known_.end())
      return found->second;
    int64_t divisor = compute(value, steps - 1);
    known_[value] = divisor;
    return divisor;
  }

private:
  static int64_t product(int64_t a, int64_t c) {
    return a > INT32_MAX || c > INT32_MAX ? std::max(a, c) : a * c;
  }
  int64_t compute(Value value, int steps) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return loop && argument == loop.getInductionVar()
                 ? std::gcd(of(loop.getLowerBound(), steps), of(loop.getStep(), steps))
                 : 1;
    }
    return computeOf(value.getDefiningOp(), steps);
  }
  int64_t computeOf(Operation *op, int steps) {
    auto operand = [&](unsigned i) { return of(op->getOperand(i), steps); };
    if (isa<arith::MulIOp>(op))
      return product(operand(0), operand(1));
    if (isa<arith::SubIOp>(op))
      if (Operation *rest = op->getOperand(1).getDefiningOp();
          isa_and_present<arith::RemUIOp, arith::RemSIOp>(rest) &&
          rest->getOperand(0) == op->getOperand(0))
        return of(rest->getOperand(1), steps);
    if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::RemUIOp,
            arith::RemSIOp>(op))
      return std::gcd(operand(0), operand(1));
    if (isa<arith::SelectOp>(op))
      return std::gcd(operand(1), operand(2));
    if (isa<arith::IndexCastOp>(op)) // numbers that wrap keep powers of two
      return operand(0) & -operand(0);
    std::optional<int64_t> bits;
    if (isa<arith::ShLIOp>(op))
      bits = getConstantIntValue(op->getOperand(1));
    return bits && *bits >= 0 && *bits < 31 ? product(operand(0), int64_t(1) << *bits) : 1;
  }

  llvm::SmallDenseMap<Value, int64_t> known_;
};

} // namespace

int64_t divisorOf(Value value) {
  constexpr int kDeep = 64;
  return Divisors().of(value, kDeep);
}

Value lowOfWindow(OpBuilder &b, Location loc, Value low, Value origin) {
  if (!low && isNotNegative(origin))
    return {};
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value left = b.createOrFold<arith::SubIOp>(loc, low ? low : zero, origin);
  return b.createOrFold<arith::MaxSIOp>(loc, left, zero);
}

Value isWithin(OpBuilder &b, Location loc, Value at, Value low, Value end) {
  if (low) {
    at = b.createOrFold<arith::SubIOp>(loc, at, low);
    end = b.createOrFold<arith::MaxSIOp>(loc, end, low);
    end = b.createOrFold<arith::SubIOp>(loc, end, low);
  }
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, at, end);
}

} // namespace sinter::sched
