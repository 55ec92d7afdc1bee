// Handlers of the math dialect: computed in double, rounded once to the element type.
#include "tile/mlir_pch.h"

#include "tile/interpreter/elementwise.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace sinter::tile {

// a * b + c for the types whose products are exact in double, cut to odd so that rounding to such a
// type rounds once.
static double fmaToOdd(double a, double b, double c) {
  double product = a * b, sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - product;
  double lost = (product - (sum - part)) + (c - part);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (lost == 0 || (bits & 1))
    return sum;
  return std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

static Result<void> fma(OpCall &call) {
  const Tile &a = call.tile(0), &b = call.tile(1), &c = call.tile(2);
  Tile &out = call.out();
  if (out.element().kind == ElementKind::F32) {
    for (int64_t i = 0; i < out.count(); ++i)
      out.as<float>()[i] = std::fma(a.as<float>()[i], b.as<float>()[i], c.as<float>()[i]);
    return {};
  }
  bool wide = out.element().kind == ElementKind::F64;
  double x[kChunk], y[kChunk], z[kChunk];
  forChunks(out.count(), [&](int64_t start, int64_t n) {
    readDoubles(a, start, {x, size_t(n)});
    readDoubles(b, start, {y, size_t(n)});
    readDoubles(c, start, {z, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      x[i] = wide ? std::fma(x[i], y[i], z[i]) : fmaToOdd(x[i], y[i], z[i]);
    writeDoubles(out, start, {x, size_t(n)});
  });
  return {};
}

template <auto F> Result<void> classify(OpCall &call) {
  double x[kChunk];
  uint64_t truth[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readDoubles(call.tile(0), start, {x, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      truth[i] = F(x[i]);
    writeInts(call.out(), start, {truth, size_t(n)});
  });
  return {};
}

static void addTranscendentals(Handlers &handlers) {
  handlers.add<math::ExpOp>(doubleUnary<[](double x) { return std::exp(x); }>);
  handlers.add<math::Exp2Op>(doubleUnary<[](double x) { return std::exp2(x); }>);
  handlers.add<math::ExpM1Op>(doubleUnary<[](double x) { return std::expm1(x); }>);
  handlers.add<math::LogOp>(doubleUnary<[](double x) { return std::log(x); }>);
  handlers.add<math::Log2Op>(doubleUnary<[](double x) { return std::log2(x); }>);
  handlers.add<math::Log10Op>(doubleUnary<[](double x) { return std::log10(x); }>);
  handlers.add<math::Log1pOp>(doubleUnary<[](double x) { return std::log1p(x); }>);
  handlers.add<math::SqrtOp>(doubleUnary<[](double x) { return std::sqrt(x); }>);
  handlers.add<math::RsqrtOp>(doubleUnary<[](double x) { return 1.0 / std::sqrt(x); }>);
  handlers.add<math::CbrtOp>(doubleUnary<[](double x) { return std::cbrt(x); }>);
  handlers.add<math::SinOp>(doubleUnary<[](double x) { return std::sin(x); }>);
  handlers.add<math::CosOp>(doubleUnary<[](double x) { return std::cos(x); }>);
  handlers.add<math::TanOp>(doubleUnary<[](double x) { return std::tan(x); }>);
  handlers.add<math::AsinOp>(doubleUnary<[](double x) { return std::asin(x); }>);
  handlers.add<math::AcosOp>(doubleUnary<[](double x) { return std::acos(x); }>);
  handlers.add<math::AtanOp>(doubleUnary<[](double x) { return std::atan(x); }>);
  handlers.add<math::SinhOp>(doubleUnary<[](double x) { return std::sinh(x); }>);
  handlers.add<math::CoshOp>(doubleUnary<[](double x) { return std::cosh(x); }>);
  handlers.add<math::TanhOp>(doubleUnary<[](double x) { return std::tanh(x); }>);
  handlers.add<math::ErfOp>(doubleUnary<[](double x) { return std::erf(x); }>);
  handlers.add<math::ErfcOp>(doubleUnary<[](double x) { return std::erfc(x); }>);
  handlers.add<math::PowFOp>(doubleBinary<[](double x, double y) { return std::pow(x, y); }>);
  handlers.add<math::Atan2Op>(doubleBinary<[](double y, double x) { return std::atan2(y, x); }>);
}

static void addRounding(Handlers &handlers) {
  handlers.add<math::AbsFOp>(doubleUnary<[](double x) { return std::fabs(x); }>);
  handlers.add<math::FloorOp>(doubleUnary<[](double x) { return std::floor(x); }>);
  handlers.add<math::CeilOp>(doubleUnary<[](double x) { return std::ceil(x); }>);
  handlers.add<math::TruncOp>(doubleUnary<[](double x) { return std::trunc(x); }>);
  handlers.add<math::RoundOp>(doubleUnary<[](double x) { return std::round(x); }>);
  handlers.add<math::RoundEvenOp>(doubleUnary<[](double x) { return std::nearbyint(x); }>);
  handlers.add<math::CopySignOp>(
      doubleBinary<[](double x, double y) { return std::copysign(x, y); }>);
}

void addMathHandlers(Handlers &handlers) {
  addTranscendentals(handlers);
  addRounding(handlers);
  handlers.add<math::FmaOp>(fma);
  handlers.add<math::IsNaNOp>(classify<[](double x) { return std::isnan(x); }>);
  handlers.add<math::IsInfOp>(classify<[](double x) { return std::isinf(x); }>);
  handlers.add<math::IsFiniteOp>(classify<[](double x) { return std::isfinite(x); }>);
  handlers.add<math::AbsIOp>(intUnary<[](uint64_t x, unsigned bits) {
    return signExtend(x, bits) < 0 ? uint64_t(0) - x : x;
  }>);
  handlers.add<math::CtPopOp>(
      intUnary<[](uint64_t x, unsigned) { return uint64_t(std::popcount(x)); }>);
  handlers.add<math::CountLeadingZerosOp>(intUnary<[](uint64_t x, unsigned bits) {
    return uint64_t(std::countl_zero(x)) - (64 - bits);
  }>);
  handlers.add<math::CountTrailingZerosOp>(intUnary<[](uint64_t x, unsigned bits) {
    return std::min<uint64_t>(std::countr_zero(x), bits);
  }>);
}

} // namespace sinter::tile
