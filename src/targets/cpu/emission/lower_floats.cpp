// Narrowing by rounding to odd first, so that two roundings are one; bf16 by its bits.
#include "targets/cpu/emission/lower_floats.h"

using namespace mlir;

namespace sinter::targets::cpu {

namespace {
/// Builds operations on one shape: a scalar or a vector.
struct Shape {
  OpBuilder &b;
  Location loc;
  Type like;

  Type of(Type element) const {
    if (auto vector = dyn_cast<VectorType>(like))
      return vector.clone(element);
    return element;
  }
  Type ints(unsigned width) const { return of(b.getIntegerType(width)); }
  Value constant(unsigned width, int64_t value) const {
    TypedAttr attr = b.getIntegerAttr(b.getIntegerType(width), value);
    if (auto vector = dyn_cast<VectorType>(ints(width)))
      attr = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attr));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value bitcast(Value x, Type element) const {
    return arith::BitcastOp::create(b, loc, of(element), x);
  }
  // bf16 is the upper half of an f32.
  Value extendBf16(Value x) const {
    Value wide = arith::ExtUIOp::create(b, loc, ints(32), bitcast(x, b.getIntegerType(16)));
    return bitcast(arith::ShLIOp::create(b, loc, wide, constant(32, 16)), b.getF32Type());
  }
  Value extend(Value x, Type element) const {
    if (getElementTypeOrSelf(x.getType()).isBF16() && !element.isBF16())
      x = extendBf16(x);
    return x.getType() == of(element) ? x
                                      : arith::ExtFOp::create(b, loc, of(element), x).getResult();
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) const {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
};
} // namespace

// f64 as f32 cut towards zero with its last bit set where anything was lost: narrowing that to half
// the width or less rounds as narrowing the f64 would.
static Value narrowToOdd(const Shape &s, Value x) {
  Value near = arith::TruncFOp::create(s.b, s.loc, s.of(s.b.getF32Type()), x);
  Value back = arith::ExtFOp::create(s.b, s.loc, s.of(s.b.getF64Type()), near);
  Value inexact = s.compare(arith::CmpFPredicate::ONE, back, x);
  Value larger = s.compare(arith::CmpFPredicate::OGT, math::AbsFOp::create(s.b, s.loc, back),
                           math::AbsFOp::create(s.b, s.loc, x));
  Value bits = s.bitcast(near, s.b.getI32Type());
  Value less = arith::SubIOp::create(s.b, s.loc, bits, s.constant(32, 1));
  bits = arith::SelectOp::create(s.b, s.loc, larger, less, bits);
  Value odd = arith::OrIOp::create(s.b, s.loc, bits, s.constant(32, 1));
  bits = arith::SelectOp::create(s.b, s.loc, inexact, odd, bits);
  return s.bitcast(bits, s.b.getF32Type());
}

// Nearest, ties to even; NaN becomes a quiet NaN.
static Value roundToBf16(const Shape &s, Value x) {
  OpBuilder &b = s.b;
  Value bits = s.bitcast(x, b.getI32Type());
  Value high = arith::ShRUIOp::create(b, s.loc, bits, s.constant(32, 16));
  Value tie = arith::AndIOp::create(b, s.loc, high, s.constant(32, 1));
  Value rounded = arith::AddIOp::create(b, s.loc, arith::AddIOp::create(b, s.loc, bits, tie),
                                        s.constant(32, 0x7fff));
  rounded = arith::ShRUIOp::create(b, s.loc, rounded, s.constant(32, 16));
  Value quiet = arith::OrIOp::create(b, s.loc, high, s.constant(32, 0x40));
  Value nan = s.compare(arith::CmpFPredicate::UNO, x, x);
  rounded = arith::SelectOp::create(b, s.loc, nan, quiet, rounded);
  Value narrow = arith::TruncIOp::create(b, s.loc, s.ints(16), rounded);
  return s.bitcast(narrow, b.getBF16Type());
}

static Value narrow(const Shape &s, Value x, Type element) {
  if (getElementTypeOrSelf(x.getType()).isF64())
    x = narrowToOdd(s, x);
  if (element.isBF16())
    return roundToBf16(s, x);
  return arith::TruncFOp::create(s.b, s.loc, s.of(element), x);
}

static bool isSmall(Type type) {
  return type.isF16() || type.isBF16();
}

static bool onBf16(Operation *op) {
  return llvm::any_of(op->getOperandTypes(),
                      [](Type t) { return getElementTypeOrSelf(t).isBF16(); });
}

// The operation on f32 operands in place of bf16 ones, its result rounded.
static Value widened(const Shape &s, Operation *op) {
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(getElementTypeOrSelf(operand.getType()).isBF16()
                          ? s.extend(operand, s.b.getF32Type())
                          : operand);
  bool rounds = getElementTypeOrSelf(op->getResult(0).getType()).isBF16();
  state.addTypes(rounds ? s.of(s.b.getF32Type()) : op->getResult(0).getType());
  state.addAttributes(op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Value result = s.b.create(state)->getResult(0);
  return rounds ? roundToBf16(s, result) : result;
}

static Value saturated(const Shape &s, Operation *op, StringRef intrinsic) {
  Value x = op->getOperand(0);
  if (getElementTypeOrSelf(x.getType()).isBF16())
    x = s.extend(x, s.b.getF32Type());
  return LLVM::CallIntrinsicOp::create(s.b, s.loc, op->getResult(0).getType(),
                                       s.b.getStringAttr(intrinsic), ValueRange{x})
      .getResult(0);
}

// What stands for `op`; null where it stays.
static Value replacement(OpBuilder &b, Operation *op) {
  Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
  Shape s{b, op->getLoc(), type};
  if (isa<arith::FPToSIOp>(op))
    return saturated(s, op, "llvm.fptosi.sat");
  if (isa<arith::FPToUIOp>(op))
    return saturated(s, op, "llvm.fptoui.sat");
  if (isa<arith::TruncFOp>(op)) {
    bool wide = getElementTypeOrSelf(op->getOperand(0).getType()).isF64();
    return element.isBF16() || (wide && isSmall(element)) ? narrow(s, op->getOperand(0), element)
                                                          : Value();
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    if (!isSmall(element))
      return {};
    Type wide = s.of(b.getF64Type());
    Value exact =
        isa<arith::SIToFPOp>(op)
            ? arith::SIToFPOp::create(b, op->getLoc(), wide, op->getOperand(0)).getResult()
            : arith::UIToFPOp::create(b, op->getLoc(), wide, op->getOperand(0)).getResult();
    return narrow(s, exact, element);
  }
  if (isa<arith::BitcastOp, arith::SelectOp>(op) || !onBf16(op))
    return {};
  if (isa<arith::ExtFOp>(op))
    return s.extend(op->getOperand(0), element);
  return widened(s, op);
}

static Type asBits(Type type) {
  auto bits = [&] { return IntegerType::get(type.getContext(), 16); };
  if (auto vector = dyn_cast<VectorType>(type); vector && vector.getElementType().isBF16())
    return vector.clone(bits());
  return type.isBF16() ? bits() : type;
}

static TypedAttr asBits(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return IntegerAttr::get(asBits(number.getType()), number.getValue().bitcastToAPInt());
  return cast<DenseElementsAttr>(value).bitcast(
      cast<VectorType>(asBits(value.getType())).getElementType());
}

// bf16 as i16 wherever it is only moved: LLVM moves it through f32 and library calls where the
// machine has no instructions on it. What instructions by name take and give stays as it is.
static void moveAsBits(Operation *root) {
  SmallVector<arith::BitcastOp> casts;
  root->walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(asBits(argument.getType()));
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (constant && asBits(constant.getType()) != constant.getType())
      constant.setValueAttr(asBits(constant.getValue()));
    if (isa<LLVM::CallIntrinsicOp, LLVM::BitcastOp>(op))
      return;
    for (OpResult result : op->getResults())
      result.setType(asBits(result.getType()));
    if (auto cast = dyn_cast<arith::BitcastOp>(op))
      casts.push_back(cast);
  });
  for (arith::BitcastOp cast : casts)
    if (cast.getIn().getType() == cast.getType()) {
      cast.replaceAllUsesWith(cast.getIn());
      cast.erase();
    }
}

void lowerFloats(Operation *root) {
  SmallVector<Operation *> work;
  root->walk([&](Operation *op) {
    if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
        op->getNumResults() == 1)
      work.push_back(op);
  });
  for (Operation *op : work) {
    OpBuilder b(op);
    if (Value value = replacement(b, op)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }
  }
  moveAsBits(root);
}

} // namespace sinter::targets::cpu
