// Handlers of arith's constants and conversions.
#include "tile/mlir_pch.h"

#include "tile/interpreter/elementwise.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace sinter::tile {

// ---- constants ----

static void setElement(Tile &tile, int64_t at, const llvm::APInt &bits) {
  uint64_t value = bits.getZExtValue();
  std::memcpy(tile.data() + at * tile.element().bytes, &value, tile.element().bytes);
}

static Result<void> fillConstant(OpCall &call, Attribute value) {
  Tile &tile = call.out();
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    setElement(tile, 0, integer.getValue());
    return {};
  }
  if (auto real = dyn_cast<FloatAttr>(value)) {
    setElement(tile, 0, real.getValue().bitcastToAPInt());
    return {};
  }
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(value);
  if (!dense)
    return call.fail(Code::Unsupported, "holds neither a number nor dense elements");
  int64_t at = 0;
  if (tile.element().isInt())
    for (llvm::APInt element : dense.getValues<llvm::APInt>())
      setElement(tile, at++, element);
  else
    for (llvm::APFloat element : dense.getValues<llvm::APFloat>())
      setElement(tile, at++, element.bitcastToAPInt());
  return {};
}

static Result<void> constant(OpCall &call) {
  auto &known = call.engine().constants;
  if (auto found = known.find(&call.op); found != known.end()) {
    call.results[0] = found->second;
    return {};
  }
  SINTER_TRY(fillConstant(call, cast<arith::ConstantOp>(call.op).getValue()));
  known[&call.op] = call.out();
  return {};
}

// ---- conversions ----

template <bool isSigned> Result<void> resize(OpCall &call) {
  unsigned bits = call.tile(0).element().bits;
  uint64_t x[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readInts(call.tile(0), start, {x, size_t(n)});
    if (isSigned)
      for (int64_t i = 0; i < n; ++i)
        x[i] = static_cast<uint64_t>(signExtend(x[i], bits));
    writeInts(call.out(), start, {x, size_t(n)});
  });
  return {};
}

static Result<void> resizeFloat(OpCall &call) {
  auto mode = call.op.getAttrOfType<arith::RoundingModeAttr>("roundingmode");
  if (mode && mode.getValue() != arith::RoundingMode::to_nearest_even)
    return call.fail(Code::Unsupported, "rounds " + arith::stringifyRoundingMode(mode.getValue()) +
                                            ", expected to_nearest_even");
  double x[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readDoubles(call.tile(0), start, {x, size_t(n)});
    writeDoubles(call.out(), start, {x, size_t(n)});
  });
  return {};
}

// A double that rounds to any narrower type as the integer itself would: cut to odd at 53 bits.
static double oddDouble(uint64_t magnitude) {
  int excess = 11 - std::countl_zero(magnitude | 1);
  if (excess <= 0)
    return static_cast<double>(magnitude);
  bool sticky = (magnitude & ((uint64_t(1) << excess) - 1)) != 0;
  return std::ldexp(static_cast<double>((magnitude >> excess) | sticky), excess);
}

template <bool isSigned> Result<void> intToFloat(OpCall &call) {
  const Tile &from = call.tile(0);
  Tile &out = call.out();
  bool wide = out.element().kind == ElementKind::F64;
  for (int64_t i = 0; i < out.count(); ++i) {
    uint64_t bits = isSigned ? static_cast<uint64_t>(from.signedAt(i)) : from.unsignedAt(i);
    bool negative = isSigned && static_cast<int64_t>(bits) < 0;
    uint64_t magnitude = negative ? uint64_t(0) - bits : bits;
    double value = wide ? static_cast<double>(magnitude) : oddDouble(magnitude);
    writeDoubles(out, i, negative ? -value : value);
  }
  return {};
}

// Towards zero, into [low, high]; NaN gives 0.
template <bool isSigned> uint64_t saturate(double value, unsigned bits) {
  if (std::isnan(value))
    return 0;
  double limit = std::ldexp(1.0, static_cast<int>(isSigned ? bits - 1 : bits));
  uint64_t all = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  uint64_t top = isSigned ? all >> 1 : all;
  if (value >= limit)
    return top;
  if (value <= (isSigned ? -limit : 0.0))
    return isSigned ? top + 1 : 0;
  return isSigned ? static_cast<uint64_t>(static_cast<int64_t>(value))
                  : static_cast<uint64_t>(value);
}

template <bool isSigned> Result<void> floatToInt(OpCall &call) {
  unsigned bits = call.out().element().bits;
  double x[kChunk];
  uint64_t y[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readDoubles(call.tile(0), start, {x, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      y[i] = saturate<isSigned>(x[i], bits);
    writeInts(call.out(), start, {y, size_t(n)});
  });
  return {};
}

static Result<void> bitcast(OpCall &call) {
  std::memcpy(call.out().data(), call.tile(0).data(), call.out().byteCount());
  return {};
}

void addCastHandlers(Handlers &handlers) {
  handlers.add<arith::ConstantOp>(constant);
  handlers.add<arith::ExtSIOp>(resize<true>);
  handlers.add<arith::ExtUIOp>(resize<false>);
  handlers.add<arith::TruncIOp>(resize<false>);
  handlers.add<arith::IndexCastOp>(resize<true>);
  handlers.add<arith::IndexCastUIOp>(resize<false>);
  handlers.add<arith::ExtFOp>(resizeFloat);
  handlers.add<arith::TruncFOp>(resizeFloat);
  handlers.add<arith::SIToFPOp>(intToFloat<true>);
  handlers.add<arith::UIToFPOp>(intToFloat<false>);
  handlers.add<arith::FPToSIOp>(floatToInt<true>);
  handlers.add<arith::FPToUIOp>(floatToInt<false>);
  handlers.add<arith::BitcastOp>(bitcast);
}

} // namespace sinter::tile
