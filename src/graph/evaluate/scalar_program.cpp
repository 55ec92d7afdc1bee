// Scalar operations of arith and math on numbers held as doubles.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "graph/evaluate/scalar_program.h"
#include "graph/graph.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace sinter::graph {

using Function = double (*)(Operation *op, const double *operands);

// ---- floats ----

template <double f(double)> static double unary(Operation *, const double *x) {
  return f(x[0]);
}

static double negate(double x) {
  return -x;
}
static double rsqrt(double x) {
  return 1 / std::sqrt(x);
}
static double absolute(double x) {
  return std::fabs(x);
}
static double roundEven(double x) {
  return std::nearbyint(x);
}

// NaN wins, and -0 is below +0.
template <bool wantMax> static double extreme(Operation *, const double *x) {
  if (std::isnan(x[0]) || std::isnan(x[1]))
    return NAN;
  if (x[0] == x[1])
    return std::signbit(x[0]) == wantMax ? x[1] : x[0];
  return (x[0] < x[1]) == wantMax ? x[1] : x[0];
}

template <class T> static bool ordered(StringRef predicate, T a, T b) {
  return llvm::StringSwitch<bool>(predicate)
      .Case("eq", a == b)
      .Case("ne", a != b)
      .Case("lt", a < b)
      .Case("le", a <= b)
      .Case("gt", a > b)
      .Default(a >= b);
}

static double compareFloats(Operation *op, const double *x) {
  const StringRef predicate = arith::stringifyCmpFPredicate(cast<arith::CmpFOp>(op).getPredicate());
  return ordered(predicate.drop_front(), x[0], x[1]); // "oeq", "une", "olt", ...
}

// ---- integers ----

static int64_t whole(double x) {
  return static_cast<int64_t>(x);
}

static double compareWhole(Operation *op, const double *x) {
  const StringRef predicate = arith::stringifyCmpIPredicate(cast<arith::CmpIOp>(op).getPredicate());
  return ordered(predicate.size() == 3 ? predicate.drop_front() : predicate, x[0], x[1]);
}

// The low 32 bits of what `f` makes of two integers; rounding to the element type cuts i1.
template <uint32_t f(uint32_t, uint32_t)> static double bits(Operation *, const double *x) {
  return static_cast<int32_t>(
      f(static_cast<uint32_t>(whole(x[0])), static_cast<uint32_t>(whole(x[1]))));
}
static uint32_t add(uint32_t a, uint32_t b) {
  return a + b;
}
static uint32_t subtract(uint32_t a, uint32_t b) {
  return a - b;
}
static uint32_t multiply(uint32_t a, uint32_t b) {
  return a * b;
}
static uint32_t bitAnd(uint32_t a, uint32_t b) {
  return a & b;
}
static uint32_t bitOr(uint32_t a, uint32_t b) {
  return a | b;
}
static uint32_t bitXor(uint32_t a, uint32_t b) {
  return a ^ b;
}
static uint32_t shiftLeft(uint32_t a, uint32_t b) {
  return b < 32 ? a << b : 0;
}
static uint32_t shiftRight(uint32_t a, uint32_t b) {
  return b < 32 ? a >> b : 0;
}
static uint32_t shiftRightSigned(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<int32_t>(a) >> std::min(b, 31u));
}

template <bool wantMax> static double extremeWhole(Operation *, const double *x) {
  return (x[0] > x[1]) == wantMax ? x[0] : x[1];
}

// ---- conversions ----

static double same(Operation *, const double *x) {
  return x[0];
}
static double fromSigned(Operation *op, const double *x) {
  return op->getOperand(0).getType().isInteger(1) ? -x[0] : x[0];
}
static double fromUnsigned(Operation *, const double *x) {
  return static_cast<uint32_t>(whole(x[0]));
}
static double toWhole(Operation *, const double *x) {
  if (std::isnan(x[0]))
    return 0;
  return std::trunc(std::clamp(x[0], double(INT32_MIN), double(INT32_MAX)));
}
static double reinterpret(Operation *op, const double *x) {
  if (op->getResult(0).getType() == op->getOperand(0).getType())
    return x[0];
  if (op->getResult(0).getType().isF32())
    return std::bit_cast<float>(static_cast<uint32_t>(whole(x[0])));
  return std::bit_cast<int32_t>(static_cast<float>(x[0]));
}

static double constant(Operation *op, const double *) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  const APInt &bits = cast<IntegerAttr>(value).getValue();
  return bits.getBitWidth() == 1 ? static_cast<double>(bits.getZExtValue())
                                 : static_cast<double>(bits.getSExtValue());
}

static Function floatFunction(StringRef name) {
  return llvm::StringSwitch<Function>(name)
      .Case("arith.addf", [](Operation *, const double *x) { return x[0] + x[1]; })
      .Case("arith.subf", [](Operation *, const double *x) { return x[0] - x[1]; })
      .Case("arith.mulf", [](Operation *, const double *x) { return x[0] * x[1]; })
      .Case("arith.divf", [](Operation *, const double *x) { return x[0] / x[1]; })
      .Case("arith.negf", unary<negate>)
      .Case("arith.maximumf", extreme<true>)
      .Case("arith.minimumf", extreme<false>)
      .Case("arith.cmpf", compareFloats)
      .Case("math.absf", unary<absolute>)
      .Case("math.ceil", unary<std::ceil>)
      .Case("math.cos", unary<std::cos>)
      .Case("math.erf", unary<std::erf>)
      .Case("math.exp", unary<std::exp>)
      .Case("math.exp2", unary<std::exp2>)
      .Case("math.floor", unary<std::floor>)
      .Case("math.fma", [](Operation *, const double *x) { return std::fma(x[0], x[1], x[2]); })
      .Case("math.log", unary<std::log>)
      .Case("math.log2", unary<std::log2>)
      .Case("math.powf", [](Operation *, const double *x) { return std::pow(x[0], x[1]); })
      .Case("math.roundeven", unary<roundEven>)
      .Case("math.rsqrt", unary<rsqrt>)
      .Case("math.sin", unary<std::sin>)
      .Case("math.sqrt", unary<std::sqrt>)
      .Case("math.tanh", unary<std::tanh>)
      .Default(nullptr);
}

static Function wholeFunction(StringRef name) {
  return llvm::StringSwitch<Function>(name)
      .Case("arith.addi", bits<add>)
      .Case("arith.subi", bits<subtract>)
      .Case("arith.muli", bits<multiply>)
      .Case("arith.andi", bits<bitAnd>)
      .Case("arith.ori", bits<bitOr>)
      .Case("arith.xori", bits<bitXor>)
      .Case("arith.shli", bits<shiftLeft>)
      .Case("arith.shrui", bits<shiftRight>)
      .Case("arith.shrsi", bits<shiftRightSigned>)
      .Case("arith.maxsi", extremeWhole<true>)
      .Case("arith.minsi", extremeWhole<false>)
      .Case("arith.cmpi", compareWhole)
      .Default(nullptr);
}

static Function conversion(StringRef name) {
  return llvm::StringSwitch<Function>(name)
      .Cases({"arith.extf", "arith.truncf", "arith.extui", "arith.trunci"}, same)
      .Cases({"arith.sitofp", "arith.extsi"}, fromSigned)
      .Case("arith.uitofp", fromUnsigned)
      .Case("arith.fptosi", toWhole)
      .Case("arith.bitcast", reinterpret)
      .Case("arith.constant", constant)
      .Case("arith.select", [](Operation *, const double *x) { return x[0] != 0 ? x[1] : x[2]; })
      .Default(nullptr);
}

static Function functionOf(StringRef name) {
  if (Function function = floatFunction(name))
    return function;
  if (Function function = wholeFunction(name))
    return function;
  return conversion(name);
}

bool hasScalarFunction(StringRef name) {
  return functionOf(name) != nullptr;
}

ScalarProgram::ScalarProgram(mlir::Block &block, Precision precision, int64_t stretch)
    : precision_(precision), arguments_(block.getNumArguments()) {
  llvm::DenseMap<Value, size_t> numbers;
  for (BlockArgument argument : block.getArguments())
    numbers[argument] = numbers.size();
  for (Operation &op : block.without_terminator()) {
    Step step{&op, functionOf(op.getName().getStringRef()), {}, op.getResult(0).getType()};
    SINTER_CHECK(step.function);
    for (Value operand : op.getOperands())
      step.operands.push_back(numbers.at(operand));
    numbers[op.getResult(0)] = arguments_ + steps_.size();
    steps_.push_back(std::move(step));
  }
  for (Value yielded : block.getTerminator()->getOperands())
    results_.push_back(numbers.at(yielded));
  slots_.assign(arguments_ + steps_.size(), std::vector<double>(stretch));
}

ArrayRef<double> ScalarProgram::run(int64_t count) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step &step = steps_[i];
    Tensor out{step.element, {count}, std::move(slots_[arguments_ + i])};
    double operands[3] = {};
    for (int64_t at = 0; at < count; ++at) {
      for (size_t k = 0; k < step.operands.size(); ++k)
        operands[k] = slots_[step.operands[k]][at];
      out.values[at] = step.function(step.op, operands);
    }
    const Result<void> rounded = roundTo(out, precision_);
    SINTER_CHECK(rounded); // scalars round without error
    slots_[arguments_ + i] = std::move(out.values);
  }
  return ArrayRef(slots_[results_.front()]).take_front(count);
}

} // namespace sinter::graph
