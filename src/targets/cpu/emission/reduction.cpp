// Reductions: what elements combine by, and the order of numbers as that of integers.
#include "targets/cpu/emission/reduction.h"

using namespace mlir;

namespace sinter::targets::cpu {

Value neutral(OpBuilder &b, Location loc, tile::ReduceKind kind, RankedTensorType type) {
  Type element = type.getElementType();
  TypedAttr attr;
  if (auto floating = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &s = floating.getFloatSemantics();
    APFloat v = kind == tile::ReduceKind::Sum ? APFloat::getZero(s)
                : tile::isMax(kind)           ? APFloat::getInf(s, /*Negative=*/true)
                                              : APFloat::getInf(s);
    attr = DenseElementsAttr::get(type, v);
  } else {
    unsigned bits = element.getIntOrFloatBitWidth();
    APInt v = kind == tile::ReduceKind::Sum ? APInt::getZero(bits)
              : tile::isMax(kind)           ? APInt::getSignedMinValue(bits)
                                            : APInt::getSignedMaxValue(bits);
    attr = DenseElementsAttr::get(type, v);
  }
  return arith::ConstantOp::create(b, loc, attr);
}

static Value sum(OpBuilder &b, Location loc, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}

static Value maximum(OpBuilder &b, Location loc, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return arith::MaximumFOp::create(b, loc, x, y);
  return arith::MaxSIOp::create(b, loc, x, y);
}

static Value minimum(OpBuilder &b, Location loc, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return arith::MinimumFOp::create(b, loc, x, y);
  return arith::MinSIOp::create(b, loc, x, y);
}

// One instruction of x86.
static Value larger(OpBuilder &b, Location loc, Value x, Value y) {
  if (!isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return arith::MaxSIOp::create(b, loc, x, y);
  Value isLarger = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, y, x);
  return arith::SelectOp::create(b, loc, isLarger, y, x);
}

Value combine(OpBuilder &b, Location loc, tile::ReduceKind kind, Value x, Value y) {
  switch (kind) {
  case tile::ReduceKind::Sum:
    return sum(b, loc, x, y);
  case tile::ReduceKind::Max:
    return maximum(b, loc, x, y);
  case tile::ReduceKind::Min:
    return minimum(b, loc, x, y);
  case tile::ReduceKind::MaxAnyNan:
    return larger(b, loc, x, y);
  }
  llvm_unreachable("closed enum");
}

// Its own inverse, but for NaN.
static Value orderOf(OpBuilder &b, Location loc, Value bits) {
  auto type = cast<RankedTensorType>(bits.getType());
  auto splat = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, value));
  };
  Value sign = arith::ShRSIOp::create(b, loc, bits, splat(31));
  Value others = arith::AndIOp::create(b, loc, sign, splat(INT32_MAX));
  return arith::XOrIOp::create(b, loc, bits, others);
}

Value toOrder(OpBuilder &b, Location loc, Value numbers) {
  auto type = cast<RankedTensorType>(numbers.getType()).clone(b.getI32Type());
  constexpr int32_t kNan = 0x7fc00000;
  Value bits = arith::BitcastOp::create(b, loc, type, numbers);
  Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, numbers, numbers);
  Value top = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, kNan));
  return arith::SelectOp::create(b, loc, nan, top, orderOf(b, loc, bits));
}

Value fromOrder(OpBuilder &b, Location loc, Value order) {
  auto type = cast<RankedTensorType>(order.getType()).clone(b.getF32Type());
  return arith::BitcastOp::create(b, loc, type, orderOf(b, loc, order));
}

} // namespace sinter::targets::cpu
