// Handlers of the arith dialect's arithmetic, comparisons and select.
#include "tile/mlir_pch.h"

#include "tile/interpreter/elementwise.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace sinter::tile {

// ---- integers ----

static uint64_t divideSigned(uint64_t a, uint64_t b, unsigned bits) {
  // The negative divisor -1 would trap for the smallest number, which wraps.
  int64_t x = signExtend(a, bits), y = signExtend(b, bits);
  return y == -1 ? uint64_t(0) - uint64_t(x) : static_cast<uint64_t>(x / y);
}

static uint64_t remainderSigned(uint64_t a, uint64_t b, unsigned bits) {
  int64_t x = signExtend(a, bits), y = signExtend(b, bits);
  return y == -1 ? 0 : static_cast<uint64_t>(x % y);
}

// The quotient rounded down (round = -1) or up (round = 1).
template <int round> uint64_t divideRounded(uint64_t a, uint64_t b, unsigned bits) {
  int64_t x = signExtend(a, bits), y = signExtend(b, bits);
  uint64_t quotient = divideSigned(a, b, bits);
  bool inexact = remainderSigned(a, b, bits) != 0;
  bool negative = (x < 0) != (y < 0);
  return inexact && negative == (round < 0) ? quotient + static_cast<uint64_t>(round) : quotient;
}

static void addIntegerHandlers(Handlers &handlers) {
  using U = uint64_t;
  handlers.add<arith::AddIOp>(intBinary<[](U a, U b, unsigned) { return a + b; }>);
  handlers.add<arith::SubIOp>(intBinary<[](U a, U b, unsigned) { return a - b; }>);
  handlers.add<arith::MulIOp>(intBinary<[](U a, U b, unsigned) { return a * b; }>);
  handlers.add<arith::AndIOp>(intBinary<[](U a, U b, unsigned) { return a & b; }>);
  handlers.add<arith::OrIOp>(intBinary<[](U a, U b, unsigned) { return a | b; }>);
  handlers.add<arith::XOrIOp>(intBinary<[](U a, U b, unsigned) { return a ^ b; }>);
  handlers.add<arith::ShLIOp>(
      intBinary<[](U a, U b, unsigned bits) { return b < bits ? a << b : 0; }>);
  handlers.add<arith::ShRUIOp>(
      intBinary<[](U a, U b, unsigned bits) { return b < bits ? a >> b : 0; }>);
  handlers.add<arith::ShRSIOp>(intBinary<[](U a, U b, unsigned bits) {
    return static_cast<U>(signExtend(a, bits) >> std::min<U>(b, bits - 1));
  }>);
  handlers.add<arith::MaxUIOp>(intBinary<[](U a, U b, unsigned) { return std::max(a, b); }>);
  handlers.add<arith::MinUIOp>(intBinary<[](U a, U b, unsigned) { return std::min(a, b); }>);
  handlers.add<arith::MaxSIOp>(intBinary<[](U a, U b, unsigned bits) {
    return signExtend(a, bits) < signExtend(b, bits) ? b : a;
  }>);
  handlers.add<arith::MinSIOp>(intBinary<[](U a, U b, unsigned bits) {
    return signExtend(b, bits) < signExtend(a, bits) ? b : a;
  }>);
  handlers.add<arith::DivUIOp>(intDivision<[](U a, U b, unsigned) { return a / b; }>);
  handlers.add<arith::RemUIOp>(intDivision<[](U a, U b, unsigned) { return a % b; }>);
  handlers.add<arith::CeilDivUIOp>(
      intDivision<[](U a, U b, unsigned) { return a / b + (a % b != 0); }>);
  handlers.add<arith::DivSIOp>(intDivision<divideSigned>);
  handlers.add<arith::RemSIOp>(intDivision<remainderSigned>);
  handlers.add<arith::CeilDivSIOp>(intDivision<divideRounded<1>>);
  handlers.add<arith::FloorDivSIOp>(intDivision<divideRounded<-1>>);
}

template <bool isSigned> Result<void> multiplyExtended(OpCall &call) {
  const Tile &a = call.tile(0), &b = call.tile(1);
  unsigned bits = a.element().bits;
  for (int64_t i = 0; i < a.count(); ++i) {
    unsigned __int128 product =
        isSigned
            ? static_cast<unsigned __int128>(static_cast<__int128>(a.signedAt(i)) * b.signedAt(i))
            : static_cast<unsigned __int128>(a.unsignedAt(i)) * b.unsignedAt(i);
    writeInts(call.out(0), i, static_cast<uint64_t>(product));
    writeInts(call.out(1), i, static_cast<uint64_t>(product >> bits));
  }
  return {};
}

static Result<void> addExtended(OpCall &call) {
  const Tile &a = call.tile(0), &b = call.tile(1);
  for (int64_t i = 0; i < a.count(); ++i) {
    uint64_t left = a.unsignedAt(i), sum = (left + b.unsignedAt(i)) & a.element().mask();
    writeInts(call.out(0), i, sum);
    writeInts(call.out(1), i, uint64_t(sum < left));
  }
  return {};
}

// ---- floats ----

// The order of minimumf and maximumf: NaN wins, and -0 is below +0. The "num" variants drop a NaN.
template <bool wantMax, bool dropNan> struct Extreme {
  template <typename T> constexpr T operator()(T a, T b) const {
    if (std::isnan(a))
      return dropNan ? b : a;
    if (std::isnan(b))
      return dropNan ? a : b;
    if (a == b)
      return std::signbit(a) == wantMax ? b : a;
    return (a < b) == wantMax ? b : a;
  }
};

static void addFloatHandlers(Handlers &handlers) {
  handlers.add<arith::AddFOp>(floatBinary<[](auto a, auto b) { return a + b; }>);
  handlers.add<arith::SubFOp>(floatBinary<[](auto a, auto b) { return a - b; }>);
  handlers.add<arith::MulFOp>(floatBinary<[](auto a, auto b) { return a * b; }>);
  handlers.add<arith::DivFOp>(floatBinary<[](auto a, auto b) { return a / b; }>);
  handlers.add<arith::RemFOp>(floatBinary<[](auto a, auto b) { return std::fmod(a, b); }>);
  handlers.add<arith::NegFOp>(floatUnary<[](auto a) { return -a; }>);
  handlers.add<arith::MaximumFOp>(floatBinary<Extreme<true, false>{}>);
  handlers.add<arith::MinimumFOp>(floatBinary<Extreme<false, false>{}>);
  handlers.add<arith::MaxNumFOp>(floatBinary<Extreme<true, true>{}>);
  handlers.add<arith::MinNumFOp>(floatBinary<Extreme<false, true>{}>);
}

// ---- comparisons ----

static bool compareInts(arith::CmpIPredicate predicate, uint64_t a, uint64_t b, unsigned bits) {
  int64_t x = signExtend(a, bits), y = signExtend(b, bits);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return a < b;
  case arith::CmpIPredicate::ule:
    return a <= b;
  case arith::CmpIPredicate::ugt:
    return a > b;
  case arith::CmpIPredicate::uge:
    return a >= b;
  }
}

static Result<void> cmpI(OpCall &call) {
  auto predicate = cast<arith::CmpIOp>(call.op).getPredicate();
  unsigned bits = call.tile(0).element().bits;
  uint64_t x[kChunk], y[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readInts(call.tile(0), start, {x, size_t(n)});
    readInts(call.tile(1), start, {y, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      x[i] = compareInts(predicate, x[i], y[i], bits);
    writeInts(call.out(), start, {x, size_t(n)});
  });
  return {};
}

static bool compareFloats(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return a != b;
  }
}

static Result<void> cmpF(OpCall &call) {
  auto predicate = cast<arith::CmpFOp>(call.op).getPredicate();
  double x[kChunk], y[kChunk];
  uint64_t truth[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readDoubles(call.tile(0), start, {x, size_t(n)});
    readDoubles(call.tile(1), start, {y, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      truth[i] = compareFloats(predicate, x[i], y[i]);
    writeInts(call.out(), start, {truth, size_t(n)});
  });
  return {};
}

static Result<void> select(OpCall &call) {
  const Tile &condition = call.tile(0);
  if (condition.rank() == 0) {
    call.results[0] = call.operand(condition.unsignedAt(0) ? 1 : 2);
    return {};
  }
  size_t bytes = call.out().element().bytes;
  if (call.out().element().isBlock())
    return call.fail(Code::Unsupported, "chooses between elements of a block format");
  for (int64_t i = 0; i < condition.count(); ++i) {
    const Tile &from = call.tile(condition.as<uint8_t>()[i] ? 1 : 2);
    std::memcpy(call.out().data() + i * bytes, from.data() + i * bytes, bytes);
  }
  return {};
}

void addArithHandlers(Handlers &handlers) {
  addIntegerHandlers(handlers);
  addFloatHandlers(handlers);
  handlers.add<arith::AddUIExtendedOp>(addExtended);
  handlers.add<arith::MulSIExtendedOp>(multiplyExtended<true>);
  handlers.add<arith::MulUIExtendedOp>(multiplyExtended<false>);
  handlers.add<arith::CmpIOp>(cmpI);
  handlers.add<arith::CmpFOp>(cmpF);
  handlers.add<arith::SelectOp>(select);
}

} // namespace sinter::tile
