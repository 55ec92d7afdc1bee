// One case per operation: integers by the width that they have in SIMT IR, floats as f32.
#include "targets/vulkan/arithmetic.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::vulkan {

namespace {
struct Element {
  Site c;
  Operation *op;
  ArrayRef<Value> x;
  const Native &native;

  Type from() const { return getElementTypeOrSelf(op->getOperand(0).getType()); }
  Type to() const { return getElementTypeOrSelf(op->getResult(0).getType()); }
  Type carrier() const { return carrierOf(to()); }

  Value sint(size_t i) const { return signExtended(c, x[i], bitsOf(from())); }
  Value uint(size_t i) const { return zeroExtended(c, x[i], bitsOf(from())); }
  Value real(size_t i) const { return widened(c, x[i], from(), native.half); }
  Value result(Value f32) const { return narrowed(c, f32, to(), native.bfloat); }

  template <class Op> Value plain() const { return c.make<Op>(carrier(), x[0], x[1]); }
  /// Operations whose form on i1 is another.
  template <class Op, class OnBool> Value orBool() const {
    return to().isInteger(1) ? plain<OnBool>() : plain<Op>();
  }
  template <class Op> Value signedOp() const { return c.make<Op>(carrier(), sint(0), sint(1)); }
  template <class Op> Value unsignedOp() const { return c.make<Op>(carrier(), uint(0), uint(1)); }
  template <class Op> Value exact() const {
    SmallVector<Value> operands;
    for (size_t i = 0; i < x.size(); ++i)
      operands.push_back(real(i));
    return result(c.makeExact<Op>(c.f32(), operands));
  }
  template <class Op> Value unary() const { return result(c.make<Op>(c.f32(), real(0))); }
};
} // namespace

template <class Op> static Value compared(Site c, Value a, Value b) {
  return c.make<Op>(c.i1(), a, b);
}

static Value compareIntegers(const Element &e, arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  Site c = e.c;
  if (e.from().isInteger(1) && predicate == P::eq)
    return compared<spirv::LogicalEqualOp>(c, e.x[0], e.x[1]);
  if (e.from().isInteger(1))
    return predicate == P::ne ? compared<spirv::LogicalNotEqualOp>(c, e.x[0], e.x[1]) : Value();
  switch (predicate) {
  case P::eq:
    return compared<spirv::IEqualOp>(c, e.uint(0), e.uint(1));
  case P::ne:
    return compared<spirv::INotEqualOp>(c, e.uint(0), e.uint(1));
  case P::slt:
    return compared<spirv::SLessThanOp>(c, e.sint(0), e.sint(1));
  case P::sle:
    return compared<spirv::SLessThanEqualOp>(c, e.sint(0), e.sint(1));
  case P::sgt:
    return compared<spirv::SGreaterThanOp>(c, e.sint(0), e.sint(1));
  case P::sge:
    return compared<spirv::SGreaterThanEqualOp>(c, e.sint(0), e.sint(1));
  case P::ult:
    return compared<spirv::ULessThanOp>(c, e.uint(0), e.uint(1));
  case P::ule:
    return compared<spirv::ULessThanEqualOp>(c, e.uint(0), e.uint(1));
  case P::ugt:
    return compared<spirv::UGreaterThanOp>(c, e.uint(0), e.uint(1));
  case P::uge:
    return compared<spirv::UGreaterThanEqualOp>(c, e.uint(0), e.uint(1));
  }
  return {};
}

static Value isNan(Site c, Value x) {
  return compared<spirv::FUnordNotEqualOp>(c, x, x);
}

static Value either(Site c, Value a, Value b) {
  return compared<spirv::LogicalOrOp>(c, a, b);
}

static Value compareFloats(const Element &e, arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  Site c = e.c;
  Value a = e.real(0), b = e.real(1);
  switch (predicate) {
  case P::AlwaysFalse:
  case P::AlwaysTrue:
    return c.boolean(predicate == P::AlwaysTrue);
  case P::OEQ:
    return compared<spirv::FOrdEqualOp>(c, a, b);
  case P::OGT:
    return compared<spirv::FOrdGreaterThanOp>(c, a, b);
  case P::OGE:
    return compared<spirv::FOrdGreaterThanEqualOp>(c, a, b);
  case P::OLT:
    return compared<spirv::FOrdLessThanOp>(c, a, b);
  case P::OLE:
    return compared<spirv::FOrdLessThanEqualOp>(c, a, b);
  case P::ONE:
    return compared<spirv::FOrdNotEqualOp>(c, a, b);
  case P::UEQ:
    return compared<spirv::FUnordEqualOp>(c, a, b);
  case P::UGT:
    return compared<spirv::FUnordGreaterThanOp>(c, a, b);
  case P::UGE:
    return compared<spirv::FUnordGreaterThanEqualOp>(c, a, b);
  case P::ULT:
    return compared<spirv::FUnordLessThanOp>(c, a, b);
  case P::ULE:
    return compared<spirv::FUnordLessThanEqualOp>(c, a, b);
  case P::UNE:
    return compared<spirv::FUnordNotEqualOp>(c, a, b);
  case P::UNO:
    return either(c, isNan(c, a), isNan(c, b));
  case P::ORD:
    return c.make<spirv::LogicalNotOp>(c.i1(), either(c, isNan(c, a), isNan(c, b)));
  }
  return {};
}

// Of equal numbers, which differ in a zero's sign if at all: for a minimum -0 where there is one,
// for a maximum where there is no other. Where one is NaN, a NaN.
static Value mergedBits(Site c, Value a, Value b, bool max) {
  Value x = c.make<spirv::BitcastOp>(c.i32(), a), y = c.make<spirv::BitcastOp>(c.i32(), b);
  Value bits = c.make<spirv::BitwiseOrOp>(c.i32(), x, y);
  if (max)
    bits = c.make<spirv::BitwiseOrOp>(c.i32(),
                                      c.make<spirv::BitwiseAndOp>(c.i32(), bits, c.word(INT32_MAX)),
                                      c.make<spirv::BitwiseAndOp>(c.i32(), x, y));
  return c.make<spirv::BitcastOp>(c.f32(), bits);
}

// The larger or smaller, -0 below +0. Where one is NaN: NaN if `keepNan`, else the other.
static Value extremumOfFloats(const Element &e, bool max, bool keepNan) {
  Site c = e.c;
  Value a = e.real(0), b = e.real(1), equal, chosen;
  if (keepNan) {
    chosen = max ? c.make<spirv::GLFMaxOp>(c.f32(), a, b) : c.make<spirv::GLFMinOp>(c.f32(), a, b);
    equal = compared<spirv::FUnordEqualOp>(c, a, b);
  } else {
    Value first = max ? compared<spirv::FOrdGreaterThanOp>(c, a, b)
                      : compared<spirv::FOrdLessThanOp>(c, a, b);
    chosen = c.select(either(c, first, isNan(c, b)), a, b);
    equal = compared<spirv::FOrdEqualOp>(c, a, b);
  }
  return e.result(c.select(equal, mergedBits(c, a, b, max), chosen));
}

static std::optional<double> constantOf(Value value) {
  auto constant = value.getDefiningOp<spirv::ConstantOp>();
  auto real = constant ? dyn_cast<FloatAttr>(constant.getValue()) : nullptr;
  return real ? std::optional(real.getValueAsDouble()) : std::nullopt;
}

// Where NaN and the sign of a zero do not matter: the device's own, and both at once as a clamp,
// which from 0 to 1 may be a part of the operation before it.
static Value ownExtremum(const Element &e, bool max) {
  Site c = e.c;
  Value a = e.real(0), b = e.real(1);
  if (max)
    return e.result(c.make<spirv::GLFMaxOp>(c.f32(), a, b));
  auto least = a.getDefiningOp<spirv::GLFMaxOp>();
  auto low = least ? constantOf(least.getRhs()) : std::nullopt, high = constantOf(b);
  if (low && high && *low <= *high)
    return e.result(c.make<spirv::GLFClampOp>(c.f32(), least.getLhs(), least.getRhs(), b));
  return e.result(c.make<spirv::GLFMinOp>(c.f32(), a, b));
}

static Value extremumNumber(const Element &e, arith::FastMathFlags flags, bool max) {
  bool own = bitEnumContainsAll(flags, arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
  return own ? ownExtremum(e, max) : extremumOfFloats(e, max, false);
}

// Between integers. From 64 bits only the lower ones are kept.
static Value resized(const Element &e, bool isSigned) {
  Site c = e.c;
  Type to = e.to();
  if (e.from().isInteger(1) && to.isInteger(1))
    return e.x[0];
  if (e.from().isInteger(1))
    return c.select(e.x[0], c.integer(e.carrier(), isSigned ? -1 : 1), c.integer(e.carrier(), 0));
  bool wasWide = bitsOf(e.from()) == 64, isWide = bitsOf(to) == 64;
  if (wasWide == isWide && bitsOf(to) <= bitsOf(e.from()) && !to.isInteger(1))
    return e.x[0];
  if (wasWide && !isWide) {
    Value low = c.make<spirv::UConvertOp>(c.i32(), e.x[0]);
    if (!to.isInteger(1))
      return low;
    return compared<spirv::INotEqualOp>(c, zeroExtended(c, low, 1), c.word(0));
  }
  if (to.isInteger(1))
    return compared<spirv::INotEqualOp>(c, zeroExtended(c, e.x[0], 1), c.word(0));
  Value full = isSigned ? e.sint(0) : e.uint(0);
  if (!isWide)
    return full;
  return isSigned ? c.make<spirv::SConvertOp>(c.i64(), full)
                  : c.make<spirv::UConvertOp>(c.i64(), full);
}

static Value fromInteger(const Element &e, bool isSigned) {
  Site c = e.c;
  if (e.from().isInteger(1))
    return e.result(c.select(e.x[0], c.real(isSigned ? -1 : 1), c.real(0)));
  return e.result(isSigned ? c.make<spirv::ConvertSToFOp>(c.f32(), e.sint(0))
                           : c.make<spirv::ConvertUToFOp>(c.f32(), e.uint(0)));
}

// Saturates; NaN gives 0. SPIR-V's own conversion is undefined for both.
static Value toInteger(const Element &e, bool isSigned) {
  Site c = e.c;
  unsigned bits = bitsOf(e.to());
  if (bits == 1)
    return {};
  Value value = e.real(0);
  double low = isSigned ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0;
  double high = std::ldexp(1.0, static_cast<int>(bits) - (isSigned ? 1 : 0));
  APInt least = isSigned ? APInt::getSignedMinValue(bits) : APInt::getZero(bits);
  APInt most = isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits);
  Value reaches = compared<spirv::FOrdGreaterThanEqualOp>(c, value, c.real(high));
  Value below = compared<spirv::FOrdLessThanOp>(c, value, c.real(low));
  Value outside = either(c, either(c, reaches, below), isNan(c, value));
  Value safe = c.select(outside, c.real(0), value);
  Value result = isSigned ? c.make<spirv::ConvertFToSOp>(e.carrier(), safe)
                          : c.make<spirv::ConvertFToUOp>(e.carrier(), safe);
  result = c.select(below, c.integer(e.carrier(), least.getSExtValue()), result);
  return c.select(reaches, c.integer(e.carrier(), most.getSExtValue()), result);
}

static Value bitwiseFloat(const Element &e, bool clear) {
  Site c = e.c;
  int64_t sign = int64_t(1) << (bitsOf(e.to()) - 1);
  Value bits = toBits(c, e.x[0], e.from());
  bits = clear ? c.make<spirv::BitwiseAndOp>(c.i32(), bits, c.word(sign - 1))
               : c.make<spirv::BitwiseXorOp>(c.i32(), bits,
                                             c.word(sign == 1LL << 31 ? INT32_MIN : sign));
  return fromBits(c, bits, e.to());
}

static Value absolute(const Element &e) {
  Site c = e.c;
  Value value = e.sint(0), zero = c.integer(e.carrier(), 0);
  Value negative = compared<spirv::SLessThanOp>(c, value, zero);
  return c.select(negative, c.make<spirv::SNegateOp>(e.carrier(), value), value);
}

static Value integerOf(const Element &e) {
  return llvm::TypeSwitch<Operation *, Value>(e.op)
      .Case([&](arith::AddIOp) { return e.orBool<spirv::IAddOp, spirv::LogicalNotEqualOp>(); })
      .Case([&](arith::SubIOp) { return e.orBool<spirv::ISubOp, spirv::LogicalNotEqualOp>(); })
      .Case([&](arith::MulIOp) { return e.orBool<spirv::IMulOp, spirv::LogicalAndOp>(); })
      .Case([&](arith::AndIOp) { return e.orBool<spirv::BitwiseAndOp, spirv::LogicalAndOp>(); })
      .Case([&](arith::OrIOp) { return e.orBool<spirv::BitwiseOrOp, spirv::LogicalOrOp>(); })
      .Case(
          [&](arith::XOrIOp) { return e.orBool<spirv::BitwiseXorOp, spirv::LogicalNotEqualOp>(); })
      .Case([&](arith::ShLIOp) {
        return e.c.make<spirv::ShiftLeftLogicalOp>(e.carrier(), e.x[0], e.uint(1));
      })
      .Case([&](arith::ShRUIOp) { return e.unsignedOp<spirv::ShiftRightLogicalOp>(); })
      .Case([&](arith::ShRSIOp) {
        return e.c.make<spirv::ShiftRightArithmeticOp>(e.carrier(), e.sint(0), e.uint(1));
      })
      .Case([&](arith::DivUIOp) { return e.unsignedOp<spirv::UDivOp>(); })
      .Case([&](arith::RemUIOp) { return e.unsignedOp<spirv::UModOp>(); })
      .Case([&](arith::DivSIOp) { return e.signedOp<spirv::SDivOp>(); })
      .Case([&](arith::RemSIOp) { return e.signedOp<spirv::SRemOp>(); })
      .Case([&](arith::MaxSIOp) { return e.signedOp<spirv::GLSMaxOp>(); })
      .Case([&](arith::MinSIOp) { return e.signedOp<spirv::GLSMinOp>(); })
      .Case([&](arith::MaxUIOp) { return e.unsignedOp<spirv::GLUMaxOp>(); })
      .Case([&](arith::MinUIOp) { return e.unsignedOp<spirv::GLUMinOp>(); })
      .Case([&](arith::CmpIOp o) { return compareIntegers(e, o.getPredicate()); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](Operation *) { return resized(e, true); })
      .Case<arith::ExtUIOp, arith::TruncIOp, arith::IndexCastUIOp>(
          [&](Operation *) { return resized(e, false); })
      .Case([&](math::AbsIOp) { return absolute(e); })
      .Default([](Operation *) { return Value(); });
}

// The product of two f32 is an f64, and so, nearly always, is what the sum rounds to.
static Value fused(const Element &e) {
  Site c = e.c;
  if (!e.to().isF32())
    return {};
  if (e.native.fma || !e.native.wide)
    return c.make<spirv::GLFmaOp>(c.f32(), e.x[0], e.x[1], e.x[2]);
  Type f64 = c.b.getF64Type();
  SmallVector<Value> wide;
  for (Value x : e.x)
    wide.push_back(c.make<spirv::FConvertOp>(f64, x));
  Value product = c.makeExact<spirv::FMulOp>(f64, {wide[0], wide[1]});
  return c.make<spirv::FConvertOp>(c.f32(), c.makeExact<spirv::FAddOp>(f64, {product, wide[2]}));
}

// A reciprocal and a product where that will do. What is decorated as exact, drivers may divide to
// the last bit, in a branch of its own.
static Value quotient(const Element &e, arith::DivFOp op) {
  Site c = e.c;
  if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::arcp))
    return e.exact<spirv::FDivOp>();
  Value reciprocal = c.make<spirv::FDivOp>(c.f32(), c.real(1), e.real(1));
  return e.result(c.makeExact<spirv::FMulOp>(c.f32(), {e.real(0), reciprocal}));
}

static Value floatOf(const Element &e) {
  return llvm::TypeSwitch<Operation *, Value>(e.op)
      .Case([&](arith::AddFOp) { return e.exact<spirv::FAddOp>(); })
      .Case([&](arith::SubFOp) { return e.exact<spirv::FSubOp>(); })
      .Case([&](arith::MulFOp) { return e.exact<spirv::FMulOp>(); })
      .Case([&](arith::DivFOp o) { return quotient(e, o); })
      .Case([&](arith::NegFOp) { return bitwiseFloat(e, false); })
      .Case([&](math::AbsFOp) { return bitwiseFloat(e, true); })
      .Case([&](math::FmaOp) { return fused(e); })
      .Case([&](math::SqrtOp) { return e.unary<spirv::GLSqrtOp>(); })
      .Case([&](math::FloorOp) { return e.unary<spirv::GLFloorOp>(); })
      .Case([&](math::CeilOp) { return e.unary<spirv::GLCeilOp>(); })
      .Case([&](math::RoundEvenOp) { return e.unary<spirv::GLRoundEvenOp>(); })
      .Case([&](math::Exp2Op o) {
        bool approximate = arith::bitEnumContainsAny(o.getFastmath(), arith::FastMathFlags::afn);
        return approximate ? e.unary<spirv::GLExp2Op>() : Value();
      })
      .Case([&](arith::MaximumFOp) { return extremumOfFloats(e, true, true); })
      .Case([&](arith::MinimumFOp) { return extremumOfFloats(e, false, true); })
      .Case([&](arith::MaxNumFOp o) { return extremumNumber(e, o.getFastmath(), true); })
      .Case([&](arith::MinNumFOp o) { return extremumNumber(e, o.getFastmath(), false); })
      .Case([&](arith::CmpFOp o) { return compareFloats(e, o.getPredicate()); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *) { return e.result(e.real(0)); })
      .Case([&](arith::SIToFPOp) { return fromInteger(e, true); })
      .Case([&](arith::UIToFPOp) { return fromInteger(e, false); })
      .Case([&](arith::FPToSIOp) { return toInteger(e, true); })
      .Case([&](arith::FPToUIOp) { return toInteger(e, false); })
      .Default([](Operation *) { return Value(); });
}

// i1 lies in a type of its own, which has no order and no shifts.
static bool suitsBool(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, arith::CmpIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
             arith::IndexCastOp, arith::IndexCastUIOp, arith::SIToFPOp, arith::UIToFPOp>(op);
}

Value elementOf(Site c, Operation *op, ArrayRef<Value> x, const Native &native) {
  Element e{c, op, x, native};
  if (isa<arith::SelectOp>(op))
    return c.select(x[0], x[1], x[2]);
  if (isa<arith::BitcastOp>(op))
    return fromBits(c, toBits(c, x[0], e.from()), e.to());
  if (e.from().isInteger(1) && !suitsBool(op))
    return {};
  if (Value integer = integerOf(e))
    return integer;
  return floatOf(e);
}

} // namespace sinter::targets::vulkan
