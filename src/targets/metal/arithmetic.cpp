// Elementwise operations: one expression for each, by kind.
#include "targets/metal/arithmetic.h"
#include "targets/metal/types.h"

using namespace mlir;

namespace sinter::targets::metal {

namespace {

/// One element of one operation.
struct Element {
  Operation *op;
  ArrayRef<std::string> x;
  const MetalFacts &facts;
  Helpers &helpers;

  Type from() const { return getElementTypeOrSelf(op->getOperand(0).getType()); }
  Type to() const { return getElementTypeOrSelf(op->getResult(0).getType()); }

  std::string help(const std::string &name) const {
    helpers.insert(name);
    return "lanes::" + name;
  }

  // ---- integers: computed in 32 or 64 bits, wrapped to their own ----

  static unsigned wide(Type type) { return bitsOf(type) == 64 ? 64 : 32; }
  std::string uint(size_t i) const {
    Type type = typeOf(i);
    return bitsOf(type) < 32 ? "uint(" + x[i] + ")" : x[i];
  }
  std::string sint(size_t i) const {
    Type type = typeOf(i);
    if (bitsOf(type) == 1)
      return "(-int(" + x[i] + "))";
    std::string own = signedName(bitsOf(type)) + "(" + x[i] + ")";
    return bitsOf(type) < 32 ? "int(" + own + ")" : own;
  }
  /// An expression of 32 or 64 bits as the result.
  std::string wrapped(const std::string &text) const {
    if (bitsOf(to()) == 1)
      return "bool((" + text + ") & 1u)";
    return unsignedName(bitsOf(to())) + "(" + text + ")";
  }
  /// Conditions are combined as such.
  std::string logical(const char *onConditions, const char *sign) const {
    return to().isInteger(1) ? x[0] + " " + onConditions + " " + x[1] : unsignedBinary(sign);
  }
  std::string unsignedBinary(const char *sign) const {
    std::string text = uint(0) + " " + sign + " " + uint(1);
    return bitsOf(to()) < 32 ? wrapped(text) : text;
  }
  std::string signedBinary(const char *sign) const {
    return wrapped(sint(0) + " " + sign + " " + sint(1));
  }
  std::string extremum(bool isSigned, const char *sign) const {
    std::string a = isSigned ? sint(0) : uint(0), b = isSigned ? sint(1) : uint(1);
    return a + " " + sign + " " + b + " ? " + x[0] + " : " + x[1];
  }

  // ---- floats: computed as f32 ----

  std::string real(size_t i) const {
    Type type = typeOf(i);
    if (type.isF32())
      return x[i];
    if (type.isBF16() && !facts.bfloat)
      return help("from_bits") + "(" + x[i] + ")";
    return "float(" + x[i] + ")";
  }
  std::string rounded(const std::string &text) const {
    if (to().isF32())
      return text;
    if (to().isBF16() && !facts.bfloat)
      return help("to_bits") + "(" + text + ")";
    return scalarName(to(), facts) + "(" + text + ")";
  }
  std::string realBinary(const char *sign) const {
    return rounded(real(0) + " " + sign + " " + real(1));
  }
  std::string call(const std::string &name) const {
    std::string text = name + "(";
    for (size_t i = 0; i < x.size(); ++i)
      text += (i ? ", " : "") + real(i);
    return rounded(text + ")");
  }

private:
  Type typeOf(size_t i) const { return getElementTypeOrSelf(op->getOperand(i).getType()); }
};

} // namespace

static std::string compareIntegers(const Element &e, arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  auto as = [&](const char *sign, bool isSigned) {
    return (isSigned ? e.sint(0) : e.uint(0)) + " " + sign + " " +
           (isSigned ? e.sint(1) : e.uint(1));
  };
  switch (predicate) {
  case P::eq:
    return as("==", false);
  case P::ne:
    return as("!=", false);
  case P::slt:
    return as("<", true);
  case P::sle:
    return as("<=", true);
  case P::sgt:
    return as(">", true);
  case P::sge:
    return as(">=", true);
  case P::ult:
    return as("<", false);
  case P::ule:
    return as("<=", false);
  case P::ugt:
    return as(">", false);
  case P::uge:
    return as(">=", false);
  }
  return {};
}

// The sign for an ordered comparison; an unordered one is the opposite, negated.
static std::string compareFloats(const Element &e, arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  std::string a = e.real(0), b = e.real(1);
  auto as = [&](const char *sign) { return a + " " + sign + " " + b; };
  auto no = [&](const char *sign) { return "!(" + as(sign) + ")"; };
  switch (predicate) {
  case P::AlwaysFalse:
    return "false";
  case P::AlwaysTrue:
    return "true";
  case P::OEQ:
    return as("==");
  case P::OGT:
    return as(">");
  case P::OGE:
    return as(">=");
  case P::OLT:
    return as("<");
  case P::OLE:
    return as("<=");
  case P::ONE:
    return as("<") + " || " + as(">");
  case P::ORD:
    return a + " == " + a + " && " + b + " == " + b;
  case P::UEQ:
    return "!(" + as("<") + " || " + as(">") + ")";
  case P::UGT:
    return no("<=");
  case P::UGE:
    return no("<");
  case P::ULT:
    return no(">=");
  case P::ULE:
    return no(">");
  case P::UNE:
    return as("!=");
  case P::UNO:
    return a + " != " + a + " || " + b + " != " + b;
  }
  return {};
}

static std::string resized(const Element &e, bool isSigned) {
  unsigned from = bitsOf(e.from()), to = bitsOf(e.to());
  if (from == to)
    return e.x[0];
  if (to < from)
    return e.wrapped(e.x[0]);
  if (!isSigned)
    return unsignedName(to) + "(" + e.x[0] + ")";
  std::string value = e.sint(0);
  return e.wrapped(to == 64 ? "long(" + value + ")" : value);
}

// Saturates; NaN gives 0. MSL's own conversion is undefined for both.
static std::string toInteger(const Element &e, bool isSigned) {
  unsigned bits = bitsOf(e.to());
  if (bits == 1)
    return {};
  double low = isSigned ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0;
  double high = std::ldexp(1.0, static_cast<int>(bits) - (isSigned ? 1 : 0));
  unsigned wide = Element::wide(e.to());
  std::string name = isSigned ? signedName(wide) : unsignedName(wide);
  APInt least = isSigned ? APInt::getSignedMinValue(bits) : APInt::getZero(bits);
  APInt most = isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits);
  auto bound = [&](const APInt &value) {
    APInt full = isSigned ? value.sext(wide) : value.zext(wide);
    return name + "(" + llvm::toString(full, 10, false) + (wide == 64 ? "ul" : "u") + ")";
  };
  return e.wrapped(e.help("saturated") + "<" + name + ">(" + e.real(0) + ", " + realLiteral(low) +
                   ", " + realLiteral(high) + ", " + bound(least) + ", " + bound(most) + ")");
}

// One rounding, whatever the types.
static std::string fromInteger(const Element &e, bool isSigned) {
  std::string value = isSigned ? e.sint(0) : e.uint(0);
  return e.rounded((e.to().isBF16() || e.to().isF32() ? "float(" : "(") + value + ")");
}

// Reading of bits as another type of the same width.
static std::string reinterpreted(const Element &e) {
  std::string from = scalarName(e.from(), e.facts), to = scalarName(e.to(), e.facts);
  return from == to ? e.x[0] : "as_type<" + to + ">(" + e.x[0] + ")";
}

static std::string integerOf(const Element &e) {
  return llvm::TypeSwitch<Operation *, std::string>(e.op)
      .Case([&](arith::AddIOp) { return e.unsignedBinary("+"); })
      .Case([&](arith::SubIOp) { return e.unsignedBinary("-"); })
      .Case([&](arith::MulIOp) { return e.unsignedBinary("*"); })
      .Case([&](arith::AndIOp) { return e.logical("&&", "&"); })
      .Case([&](arith::OrIOp) { return e.logical("||", "|"); })
      .Case([&](arith::XOrIOp) { return e.logical("!=", "^"); })
      .Case([&](arith::ShLIOp) { return e.unsignedBinary("<<"); })
      .Case([&](arith::ShRUIOp) { return e.unsignedBinary(">>"); })
      .Case([&](arith::ShRSIOp) { return e.wrapped(e.sint(0) + " >> " + e.uint(1)); })
      .Case([&](arith::DivUIOp) { return e.unsignedBinary("/"); })
      .Case([&](arith::RemUIOp) { return e.unsignedBinary("%"); })
      .Case([&](arith::DivSIOp) { return e.signedBinary("/"); })
      .Case([&](arith::RemSIOp) { return e.signedBinary("%"); })
      .Case([&](arith::MaxSIOp) { return e.extremum(true, ">"); })
      .Case([&](arith::MinSIOp) { return e.extremum(true, "<"); })
      .Case([&](arith::MaxUIOp) { return e.extremum(false, ">"); })
      .Case([&](arith::MinUIOp) { return e.extremum(false, "<"); })
      .Case([&](arith::CmpIOp o) { return compareIntegers(e, o.getPredicate()); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](Operation *) { return resized(e, true); })
      .Case<arith::ExtUIOp, arith::TruncIOp, arith::IndexCastUIOp>(
          [&](Operation *) { return resized(e, false); })
      .Case([&](math::AbsIOp) {
        return e.sint(0) + " < 0 ? " + e.wrapped("0u - " + e.uint(0)) + " : " + e.x[0];
      })
      .Default([](Operation *) { return std::string(); });
}

// The processor's own function, where an approximation will do.
static std::string approximate(const Element &e, const char *name) {
  auto fast = cast<arith::ArithFastMathInterface>(e.op).getFastMathFlagsAttr();
  bool allowed = fast && bitEnumContainsAll(fast.getValue(), arith::FastMathFlags::afn);
  return allowed ? e.call(std::string("fast::") + name) : "";
}

static std::string floatOf(const Element &e) {
  return llvm::TypeSwitch<Operation *, std::string>(e.op)
      .Case([&](arith::AddFOp) { return e.realBinary("+"); })
      .Case([&](arith::SubFOp) { return e.realBinary("-"); })
      .Case([&](arith::MulFOp) { return e.realBinary("*"); })
      .Case([&](arith::DivFOp) { return e.realBinary("/"); })
      .Case([&](arith::NegFOp) { return e.rounded("-" + e.real(0)); })
      // Rounded once; the sum of an f16 product would be rounded twice.
      .Case([&](math::FmaOp) { return e.to().isF32() ? e.call("fma") : std::string(); })
      .Case([&](math::AbsFOp) { return e.call("fabs"); })
      .Case([&](math::SqrtOp) { return e.call("precise::sqrt"); })
      .Case([&](math::FloorOp) { return e.call("floor"); })
      .Case([&](math::CeilOp) { return e.call("ceil"); })
      .Case([&](math::RoundEvenOp) { return e.call("rint"); })
      .Case([&](math::Exp2Op) { return approximate(e, "exp2"); })
      .Case([&](math::Log2Op) { return approximate(e, "log2"); })
      .Case([&](math::RsqrtOp) { return approximate(e, "rsqrt"); })
      .Case([&](math::TanhOp) { return approximate(e, "tanh"); })
      .Case([&](arith::MaximumFOp) { return e.call(e.help("maximum")); })
      .Case([&](arith::MinimumFOp) { return e.call(e.help("minimum")); })
      .Case([&](arith::MaxNumFOp) { return e.call(e.help("maxnum")); })
      .Case([&](arith::MinNumFOp) { return e.call(e.help("minnum")); })
      .Case([&](arith::CmpFOp o) { return compareFloats(e, o.getPredicate()); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *) { return e.rounded(e.real(0)); })
      .Case([&](arith::SIToFPOp) { return fromInteger(e, true); })
      .Case([&](arith::UIToFPOp) { return fromInteger(e, false); })
      .Case([&](arith::FPToSIOp) { return toInteger(e, true); })
      .Case([&](arith::FPToUIOp) { return toInteger(e, false); })
      .Default([](Operation *) { return std::string(); });
}

std::string elementOf(Operation *op, ArrayRef<std::string> x, const MetalFacts &facts,
                      Helpers &helpers) {
  Element e{op, x, facts, helpers};
  if (isa<arith::SelectOp>(op))
    return x[0] + " ? " + x[1] + " : " + x[2];
  if (isa<arith::BitcastOp>(op))
    return reinterpreted(e);
  if (std::string integer = integerOf(e); !integer.empty())
    return integer;
  return floatOf(e);
}

} // namespace sinter::targets::metal
