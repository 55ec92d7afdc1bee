// Range reductions and polynomials for f32. Coefficients are Taylor or Chebyshev values of the
// functions themselves, or of least error.
#include "tile/mlir_pch.h"

#include "sched/expand_math.h"
#include "sched/sched.h"
#include <numbers>

using namespace mlir;

namespace sinter::sched {

namespace {
/// Builds f32 arithmetic on one shape: a scalar or a tile.
struct Float32 {
  OpBuilder &b;
  Location loc;
  Type type; // f32 or a tile of f32
  OwnExp2 own;

  Type ints() const {
    Type i32 = IntegerType::get(type.getContext(), 32);
    if (auto tile = dyn_cast<RankedTensorType>(type))
      return tile.clone(i32);
    return i32;
  }
  Value constant(double v) const {
    TypedAttr attr = b.getF32FloatAttr(static_cast<float>(v));
    if (auto tile = dyn_cast<RankedTensorType>(type))
      attr = DenseElementsAttr::get(tile, static_cast<float>(v));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value integer(int32_t v) const {
    TypedAttr attr = b.getI32IntegerAttr(v);
    if (auto tile = dyn_cast<RankedTensorType>(ints()))
      attr = DenseElementsAttr::get(tile, v);
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value add(Value x, Value y) const { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) const { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) const { return math::FmaOp::create(b, loc, x, y, z); }
  Value round(Value x) const { return math::RoundEvenOp::create(b, loc, x); }
  Value toFloat(Value x) const { return arith::SIToFPOp::create(b, loc, type, x); }
  Value bitsOf(Value x) const { return arith::BitcastOp::create(b, loc, ints(), x); }
  Value shiftedLeft(Value x, int32_t by) const {
    return arith::ShLIOp::create(b, loc, x, integer(by));
  }
  /// Bits the lowest of which are those of the whole number `n` + `more`, of less than 2^22:
  /// integer conversions, which saturate, are many instructions on some processors.
  Value lowestBits(Value n, double more) const { return bitsOf(add(n, constant(0x1.8p23 + more))); }
  Value fromBits(Value x) const { return arith::BitcastOp::create(b, loc, type, x); }
  Value select(Value c, Value x, Value y) const { return arith::SelectOp::create(b, loc, c, x, y); }
  /// x held from 0 to 1; of NaN, any of them or NaN.
  Value unitRange(Value x) const {
    auto flags = arith::FastMathFlags::nnan | arith::FastMathFlags::nsz;
    Value most = arith::MaxNumFOp::create(b, loc, x, constant(0), flags);
    return arith::MinNumFOp::create(b, loc, most, constant(1), flags);
  }
  Value equal(Value x, Value y) const {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
  }
  Value less(Value x, Value y) const {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y);
  }
  /// x held from `least` on, and to `most`; NaN stays.
  Value atLeast(Value x, double least) const {
    return select(less(x, constant(least)), constant(least), x);
  }
  Value range(Value x, double least, double most) const {
    x = atLeast(x, least);
    return select(less(constant(most), x), constant(most), x);
  }
  /// c[0] + x (c[1] + x (c[2] + ...)), by Horner's scheme.
  Value polynomial(Value x, ArrayRef<double> c) const {
    Value sum = constant(c.back());
    for (double next : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, constant(next));
    return sum;
  }
};
} // namespace

namespace {
struct Rounded {
  Value whole, bits; // an integer n and one whose lowest bits are those of n + 126
};
} // namespace

// The integer nearest to x times `factor`. Integer conversions, which saturate, are many
// instructions on some processors; from 2^23 numbers are integers, and their bits count.
static Rounded nearest(const Float32 &f, Value x, double factor) {
  Value shift = f.constant(0x1.8p23 + 126), shifted = f.fma(x, f.constant(factor), shift);
  return {f.sub(shifted, shift), f.bitsOf(shifted)};
}

// 2^n p(r) as 2 p(r) times 2^(n - 1), so that n = 128 has a scale, and that of n = -126 is 0.
static Value scaledSeries(const Float32 &f, const Rounded &n, Value r, ArrayRef<double> series) {
  auto twice = llvm::map_to_vector(series, [](double c) { return 2 * c; });
  return f.mul(f.polynomial(r, twice), f.fromBits(f.shiftedLeft(n.bits, 23)));
}

// Of all polynomials to r^6 that begin with 1 + r or 1 those of least relative error for
// |r| <= ln2 / 2 and 1 / 2: 4e-9 and 2e-8 as f32, below 2e-7 with the rounding of the steps.
static constexpr double kExpSeries[] = {
    1.0, 1.0, 0.499999934321, 0.166665203988, 0.0416683907872, 0.00836874513615, 0.00138145401051};
static constexpr double kExp2Series[] = {1.0,
                                         0.693147202933,
                                         0.240226479036,
                                         0.0555033228629,
                                         0.00961843810307,
                                         0.00133989518474,
                                         0.000153532996462};

// To r^5, for numbers that are rounded to bf16 or bytes next: 1e-7, so that one in some 10,000 is
// rounded otherwise than exact ones. (To r^4 it would be 3e-6, and one in 700.)
static constexpr double kShortExp2Series[] = {
    1.0, 0.693146977599, 0.240222420851, 0.0555073374335, 0.00967151265601, 0.00132647272193};

static Value ownExp2(const Float32 &f, Value x) {
  return math::Exp2Op::create(f.b, f.loc, x, arith::FastMathFlags::afn);
}

// 2^(x log2 e) with the product in two parts, of which the small one is taken by its first two
// terms: error below 4 units in the last place. Beyond the clamp the result is 0 or infinity.
static Value expByExp2(const Float32 &f, Value x) {
  x = f.range(x, -110, 110);
  constexpr auto high = static_cast<float>(std::numbers::log2e);
  constexpr double low = std::numbers::log2e - high;
  Value whole = f.mul(x, f.constant(high));
  Value rest = f.fma(x, f.constant(high), arith::NegFOp::create(f.b, f.loc, whole));
  rest = f.fma(x, f.constant(low), rest);
  return f.mul(ownExp2(f, whole), f.fma(rest, f.constant(std::numbers::ln2), f.constant(1)));
}

namespace {
struct Power {
  Value minusN, scale; // of an integer n, -n and 2^n
};
} // namespace

// The integer nearest to x times `factor`, from -127, where the scale is 0, to 127: a share of that
// range, held from 0 to 1, which processors do on the way, then a number whose lowest bits are the
// scale's exponent. What is beyond, infinity and NaN are left to what is scaled.
static Power nearestPower(const Float32 &f, Value x, double factor) {
  constexpr double kMost = 127, kShift = 0x1.8p23 + kMost; // units of 2^23 and more are integers
  Value share = f.fma(x, f.constant(factor / (2 * kMost)), f.constant(0.5));
  Value shifted = f.fma(f.unitRange(share), f.constant(2 * kMost), f.constant(kShift - kMost));
  return {f.sub(f.constant(kShift), shifted), f.fromBits(f.shiftedLeft(f.bitsOf(shifted), 23))};
}

// ln2 in two parts, of which the first times n is exact.
static Value lessPowers(const Float32 &f, Value x, Value n) {
  return f.fma(n, f.constant(2.12194440e-4), f.fma(n, f.constant(-0.693359375), x));
}

// One unit in the last place more than the processor's exp2 of |r| <= 1 / 2, with log2 e in two
// parts. Below 2^-126.5 the result is 0.
static Value expNearZero(const Float32 &f, Value x) {
  constexpr auto high = static_cast<float>(std::numbers::log2e);
  constexpr double low = std::numbers::log2e - high;
  Power p = nearestPower(f, x, std::numbers::log2e);
  Value r = f.fma(x, f.constant(low), f.fma(x, f.constant(high), p.minusN));
  return f.mul(ownExp2(f, r), p.scale);
}

static Value exp2NearZero(const Float32 &f, Value x) {
  Power p = nearestPower(f, x, 1);
  return f.mul(ownExp2(f, f.add(x, p.minusN)), p.scale);
}

// Whether no element of `numbers` is above their row's in `maximum`.
static bool isMaximumOver(Value maximum, Value numbers) {
  SetVector<Value> parts;
  parts.insert(maximum);
  for (size_t at = 0; at < parts.size(); ++at) {
    Operation *op = parts[at].getDefiningOp();
    if (auto larger = dyn_cast_if_present<arith::MaximumFOp>(op)) {
      parts.insert(larger.getLhs());
      parts.insert(larger.getRhs());
    } else if (auto reduce = dyn_cast_if_present<tile::ReduceOp>(op);
               reduce && tile::isMax(reduce.getKind()) && reduce.getValue() == numbers) {
      return true;
    }
  }
  return false;
}

// What a row's maximum is taken off, or null.
static tile::BroadcastOp maximumOf(Value x) {
  auto difference = x.getDefiningOp<arith::SubFOp>();
  auto wide = difference ? difference.getRhs().getDefiningOp<tile::BroadcastOp>() : nullptr;
  return wide && isMaximumOver(wide.getValue(), difference.getLhs()) ? wide : nullptr;
}

// Whether a sum and something else read the same numbers: what only one of them reads is compared
// with exponentials that are made elsewhere.
static bool areWeights(Value result) {
  auto isSum = llvm::IsaPred<tile::ReduceOp>;
  return llvm::any_of(result.getUsers(), isSum) && !llvm::all_of(result.getUsers(), isSum);
}

// exp(x - m) of rows and their maxima as 2^(x log2 e - m log2 e), one step a number. Rounding m
// log2 e shifts all of a row alike, by no more than rounding x and m did: none of weights, whose
// sum is shifted too. The lowest number stays finite, so that x of minus infinity gives 0.
static Value expOfWeights(const Float32 &f, Value x, Value result) {
  tile::BroadcastOp wide = maximumOf(x);
  if (!wide || !areWeights(result))
    return {};
  Float32 row{f.b, f.loc, wide.getValue().getType(), f.own};
  Value scaled = row.mul(wide.getValue(), row.constant(-std::numbers::log2e));
  scaled = arith::MinimumFOp::create(f.b, f.loc, scaled,
                                     row.constant(std::numeric_limits<float>::max()));
  Value all = tile::BroadcastOp::create(f.b, f.loc, wide.getType(), scaled);
  auto difference = x.getDefiningOp<arith::SubFOp>();
  return ownExp2(f, f.fma(difference.getLhs(), f.constant(std::numbers::log2e), all));
}

static bool isPositiveConstant(Value value) {
  if (auto splat = value.getDefiningOp<tile::SplatOp>())
    value = splat.getValue();
  FloatAttr number;
  DenseFPElementsAttr numbers;
  auto isPositive = [](const APFloat &v) { return !v.isNegative() && v.isNormal(); };
  if (matchPattern(value, m_Constant(&number)))
    return isPositive(number.getValue());
  return matchPattern(value, m_Constant(&numbers)) && numbers.isSplat() &&
         isPositive(numbers.getSplatValue<APFloat>());
}

namespace {

// Who reads an exponential, through arithmetic that keeps relative errors as they are: products
// with something else, quotients, and accumulators with a positive constant as long as the numbers
// are positive themselves.
class Readers {
public:
  // `mayBeSummed`: the sum of the exponentials themselves may be read as it is.
  Readers(Value exponential, bool mayBeSummed)
      : mayBeSummed_(mayBeSummed), roundsAll_(follow(exponential, true, true)) {}

  // Whether all round numbers to bf16 or to bytes.
  bool round() const { return roundsAll_ && rounds_; }

private:
  bool follow(Value value, bool positive, bool first) {
    return llvm::all_of(value.getUses(),
                        [&](OpOperand &use) { return followInto(use, positive, first); });
  }

  bool followInto(OpOperand &use, bool positive, bool first) {
    Operation *user = use.getOwner();
    auto narrowed = dyn_cast<arith::TruncFOp>(user);
    if (isa<tile::QuantizeOp>(user) ||
        (narrowed && getElementTypeOrSelf(narrowed.getType()).isBF16()))
      return rounds_ = true;
    if (auto reduce = dyn_cast<tile::ReduceOp>(user))
      return first && mayBeSummed_ && reduce.getKind() == tile::ReduceKind::Sum;
    if (isa<tile::ReshapeOp, tile::BroadcastOp, tile::SliceOp, tile::PermuteOp>(user))
      return follow(user->getResult(0), positive, false);
    if (!isa<arith::MulFOp, arith::DivFOp, arith::AddFOp>(user))
      return false;
    Value other = user->getOperand(1 - use.getOperandNumber());
    if (other == use.get())
      return false;
    positive &= isPositiveConstant(other);
    return (positive || !isa<arith::AddFOp>(user)) && follow(user->getResult(0), positive, false);
  }

  bool mayBeSummed_, rounds_ = false, roundsAll_;
};

} // namespace

// By a polynomial: below 2^-125.5 the result is 0, from 2^128 infinity; relative error below 2e-7.
// log2 e is taken in one part for numbers less their row's maximum, whose powers are the smaller
// the further they lie below it, and for numbers that are rounded next: below 2e-7 from -1 to 1,
// 2e-6 to either end.
static Value expandExp(const Float32 &f, Value x, Value result = {}) {
  if (f.own == OwnExp2::Everywhere)
    return expByExp2(f, x);
  if (f.own == OwnExp2::NearZero)
    return expNearZero(f, x);
  const bool below = static_cast<bool>(maximumOf(x)),
             rounded = result && Readers(result, below).round();
  x = below ? f.atLeast(x, -87.3) : f.range(x, -87.3, 89);
  Rounded n = nearest(f, x, std::numbers::log2e);
  if (!below && !rounded)
    return scaledSeries(f, n, lessPowers(f, x, n.whole), kExpSeries);
  Value minusN = arith::NegFOp::create(f.b, f.loc, n.whole);
  return scaledSeries(f, n, f.fma(x, f.constant(std::numbers::log2e), minusN),
                      rounded ? ArrayRef(kShortExp2Series) : ArrayRef(kExp2Series));
}

static Value expandExp2(const Float32 &f, Value x) {
  if (f.own == OwnExp2::Everywhere)
    return ownExp2(f, x);
  if (f.own == OwnExp2::NearZero)
    return exp2NearZero(f, x);
  x = f.range(x, -126, 128.4);
  Rounded n = nearest(f, x, 1);
  return scaledSeries(f, n, f.sub(x, n.whole), kExp2Series);
}

// log(x) = e ln2 + 2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)); series to s^9
// (error below 3e-7); subnormal numbers are scaled first. Zero gives -infinity, negatives NaN;
// infinity and NaN stay.
static Value expandLog(const Float32 &f, Value x) {
  Value tiny = f.less(x, f.constant(std::numeric_limits<float>::min()));
  Value bits = f.bitsOf(f.select(tiny, f.mul(x, f.constant(1 << 24)), x));
  Value shifted = arith::SubIOp::create(f.b, f.loc, bits, f.integer(0x3f3504f3));
  Value e = arith::ShRSIOp::create(f.b, f.loc, shifted, f.integer(23));
  Value m = f.fromBits(
      arith::SubIOp::create(f.b, f.loc, bits, arith::ShLIOp::create(f.b, f.loc, e, f.integer(23))));
  Value s = f.div(f.sub(m, f.constant(1)), f.add(m, f.constant(1)));
  Value s2 = f.mul(s, s);
  Value series = f.polynomial(s2, {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9});
  Value power = f.sub(f.toFloat(e), f.select(tiny, f.constant(24), f.constant(0)));
  Value y = f.fma(power, f.constant(std::numbers::ln2), f.mul(s, series));
  Value infinity = f.constant(std::numeric_limits<double>::infinity());
  y = f.select(f.less(x, infinity), y, x);
  Value zero = f.constant(0);
  Value isZero = arith::CmpFOp::create(f.b, f.loc, arith::CmpFPredicate::OEQ, x, zero);
  y = f.select(isZero, f.constant(-std::numeric_limits<double>::infinity()), y);
  return f.select(f.less(x, zero), f.constant(std::numeric_limits<double>::quiet_NaN()), y);
}

// tanh(x) = 1 - 2 / (exp(2x) + 1) for |x| >= 0.4, an odd series to x^11 below (error below 4e-7).
static Value expandTanh(const Float32 &f, Value x) {
  Value far =
      f.sub(f.constant(1),
            f.div(f.constant(2), f.add(expandExp(f, f.mul(x, f.constant(2))), f.constant(1))));
  Value x2 = f.mul(x, x);
  Value near = f.mul(
      x, f.polynomial(x2, {1.0, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835, -1382.0 / 155925}));
  Value small = f.less(math::AbsFOp::create(f.b, f.loc, x), f.constant(0.4));
  return f.select(small, near, far);
}

static Value expandLog2(const Float32 &f, Value x) {
  return f.mul(expandLog(f, x), f.constant(std::numbers::log2e));
}

// e^(y ln |x|), negative where x is and y is odd, NaN where x is negative and y is no integer:
// relative error below 6e-7 (1 + |y ln x|). Powers of 1 and to 0 are 1.
static Value expandPow(const Float32 &f, Value x, Value y) {
  Value one = f.constant(1), half = f.mul(y, f.constant(0.5));
  Value size = expandExp(f, f.mul(y, expandLog(f, math::AbsFOp::create(f.b, f.loc, x))));
  Value nan = f.constant(std::numeric_limits<double>::quiet_NaN());
  Value isEven = f.equal(f.round(half), half), isWhole = f.equal(f.round(y), y);
  Value ofNegative = f.select(isEven, size, arith::NegFOp::create(f.b, f.loc, size));
  Value power = f.select(f.less(x, f.constant(0)), f.select(isWhole, ofNegative, nan), size);
  power = f.select(f.equal(x, one), one, power);
  return f.select(f.equal(y, f.constant(0)), one, power);
}

// An odd series to x^11 for |x| < 0.5, else 1 - t (a1 + t (a2 + ...)) exp(-x^2) with t = 1 / (1 + p
// |x|) (Abramowitz and Stegun 7.1.26): error below 4e-7.
static Value expandErf(const Float32 &f, Value x) {
  Value x2 = f.mul(x, x), size = math::AbsFOp::create(f.b, f.loc, x);
  constexpr double k = 2 * std::numbers::inv_sqrtpi;
  Value near = f.mul(x, f.polynomial(x2, {k, -k / 3, k / 10, -k / 42, k / 216, -k / 1320}));
  Value t = f.div(f.constant(1), f.fma(size, f.constant(0.3275911), f.constant(1)));
  Value tail = f.mul(
      t, f.polynomial(t, {0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429}));
  Value far =
      f.sub(f.constant(1), f.mul(tail, expandExp(f, arith::NegFOp::create(f.b, f.loc, x2))));
  Value negative = f.less(x, f.constant(0));
  far = f.select(negative, arith::NegFOp::create(f.b, f.loc, far), far);
  return f.select(f.less(size, f.constant(0.5)), near, far);
}

// sin or cos by quadrant: x - q pi/2 in three steps (Cody and Waite; |x| up to 1e5), Taylor to r^9
// and r^10.
static Value expandSinCos(const Float32 &f, Value x, bool cosine) {
  Value q = f.round(f.mul(x, f.constant(2 * std::numbers::inv_pi)));
  Value r = f.fma(q, f.constant(-1.5703125), x);
  r = f.fma(q, f.constant(-4.837512969970703e-4), r);
  r = f.fma(q, f.constant(-7.549789948768648e-8), r);
  Value r2 = f.mul(r, r);
  Value sine = f.mul(r, f.polynomial(r2, {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880}));
  Value cos = f.polynomial(r2, {1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800});
  Value quadrant = f.lowestBits(q, cosine ? 1 : 0);
  auto bit = [&](int32_t mask) -> Value {
    Value masked = arith::AndIOp::create(f.b, f.loc, quadrant, f.integer(mask));
    return arith::CmpIOp::create(f.b, f.loc, arith::CmpIPredicate::ne, masked, f.integer(0));
  };
  Value y = f.select(bit(1), cos, sine);
  return f.select(bit(2), arith::NegFOp::create(f.b, f.loc, y), y);
}

static Value expand(const Float32 &f, Operation *op) {
  Value x = op->getOperand(0);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp exp) {
        Value weights =
            f.own == OwnExp2::Everywhere ? expOfWeights(f, x, exp.getResult()) : Value();
        return weights ? weights : expandExp(f, x, exp.getResult());
      })
      .Case([&](math::Exp2Op) { return expandExp2(f, x); })
      .Case([&](math::LogOp) { return expandLog(f, x); })
      .Case([&](math::Log2Op) { return expandLog2(f, x); })
      .Case([&](math::PowFOp pow) { return expandPow(f, x, pow.getRhs()); })
      .Case([&](math::ErfOp) { return expandErf(f, x); })
      .Case([&](math::TanhOp) { return expandTanh(f, x); })
      .Case([&](math::SinOp) { return expandSinCos(f, x, false); })
      .Case([&](math::CosOp) { return expandSinCos(f, x, true); })
      .Case(
          [&](math::RsqrtOp) { return f.div(f.constant(1), math::SqrtOp::create(f.b, f.loc, x)); })
      .Default([](Operation *) { return Value(); });
}

LogicalResult expandMath(Operation *root, OwnExp2 own) {
  SmallVector<Operation *> work;
  root->walk([&](Operation *op) {
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
        !isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
             math::RoundEvenOp>(op))
      work.push_back(op);
  });
  for (Operation *op : work) {
    if (!getElementTypeOrSelf(op->getResult(0).getType()).isF32())
      return op->emitOpError() << "works on " << op->getResult(0).getType()
                               << ", expected f32: extend it first";
    OpBuilder b(op);
    Value value = expand({b, op->getLoc(), op->getResult(0).getType(), own}, op);
    if (!value)
      return op->emitOpError() << "has no expansion, expected one of exp, exp2, log, log2, powf, "
                                  "tanh, erf, sin, cos, rsqrt";
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
  return success();
}

} // namespace sinter::sched
