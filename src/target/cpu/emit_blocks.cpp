// Emission, block formats: where blocks lie, and rounding activations to blocks.
#include "target/cpu/emitter.h"

#include "numeric/activation_format.h"

using namespace mlir;

namespace sinter::target::cpu {

Value Emitter::bytesAt(Value base, Value offset) {
  return pointer(base, offset, b_.getI8Type());
}

Value Emitter::bytesAt(Value base, int64_t offset) {
  return LLVM::GEPOp::create(b_, loc_, base.getType(), b_.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

// The largest magnitude, found as integers: the bits of magnitudes are in the same order, with NaN
// above all of them.
static Value absMax(OpBuilder &b, Location loc, ArrayRef<Value> vectors) {
  auto bits = cast<VectorType>(vectors.front().getType()).clone(b.getI32Type());
  Value mask = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(bits, int32_t(0x7fffffff)));
  Value most;
  for (Value v : vectors) {
    Value size = arith::AndIOp::create(b, loc, arith::BitcastOp::create(b, loc, bits, v), mask);
    most = most ? arith::MaxSIOp::create(b, loc, most, size).getResult() : size;
  }
  Value one = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXSI, most);
  return arith::BitcastOp::create(b, loc, b.getF32Type(), one);
}

// Rounded values as codes. Those beyond 127 come only from the infinite inverse of a subnormal
// scale; NaN becomes 0. The range is known, so that the plain conversion is exact.
static Value codesOf(OpBuilder &b, Location loc, Value rounded) {
  auto type = cast<VectorType>(rounded.getType());
  auto splat = [&](float v) -> Value {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, v));
  };
  auto pick = [&](arith::CmpFPredicate predicate, Value x, Value limit) -> Value {
    Value keeps = arith::CmpFOp::create(b, loc, predicate, x, limit);
    return arith::SelectOp::create(b, loc, keeps, x, limit);
  };
  Value inside = pick(arith::CmpFPredicate::OLT, rounded, splat(127));
  inside = pick(arith::CmpFPredicate::OGT, inside, splat(-127));
  Value codes = LLVM::FPToSIOp::create(b, loc, type.clone(b.getI32Type()), inside);
  Value number = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, rounded, rounded);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(codes.getType()));
  return arith::SelectOp::create(b, loc, number, codes, zero);
}

// Writes the two numbers that come from the sum of `length` codes.
void Emitter::storeSum(const ActivationFormat &format, Value block, Value scale, Value sum,
                       uint32_t length, uint32_t part) {
  Value zero = arith::ConstantOp::create(b_, loc_, b_.getI32IntegerAttr(-kActivationStartZero));
  Value start = arith::MulIOp::create(b_, loc_, sum, zero);
  LLVM::StoreOp::create(b_, loc_, start, bytesAt(block, format.startOffset(length, part)), 4);
  Value number = arith::SIToFPOp::create(b_, loc_, b_.getF32Type(), sum);
  Value scaledSum = arith::MulFOp::create(b_, loc_, scale, number);
  LLVM::StoreOp::create(b_, loc_, scaledSum, bytesAt(block, format.scaledSumOffset(length, part)),
                        4);
}

// Writes one block from 32 f32 elements held in vectors.
void Emitter::quantizeBlock(const ActivationFormat &format, ArrayRef<Value> vectors, Value block) {
  auto constant = [&](float v) -> Value {
    return arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(v));
  };
  Value most = absMax(b_, loc_, vectors);
  Value scale = arith::DivFOp::create(b_, loc_, most, constant(127));
  Value isZero = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OEQ, most, constant(0));
  Value inverse = arith::DivFOp::create(b_, loc_, constant(1), scale);
  inverse = arith::SelectOp::create(b_, loc_, isZero, constant(0), inverse);
  SmallVector<Value> sums(format.parts());
  int64_t at = format.codeOffset();
  for (Value v : vectors) {
    auto type = cast<VectorType>(v.getType());
    Value scaled =
        arith::MulFOp::create(b_, loc_, v, vector::BroadcastOp::create(b_, loc_, type, inverse));
    Value rounded = math::RoundEvenOp::create(b_, loc_, scaled);
    Value codes = codesOf(b_, loc_, rounded);
    Value part = vector::ReductionOp::create(b_, loc_, vector::CombiningKind::ADD, codes);
    Value &sum = sums[(at - format.codeOffset()) / format.partLength];
    sum = sum ? arith::AddIOp::create(b_, loc_, sum, part).getResult() : part;
    Value bytes = arith::TruncIOp::create(b_, loc_, type.clone(b_.getI8Type()), codes);
    LLVM::StoreOp::create(b_, loc_, bytes, bytesAt(block, at), 1);
    at += type.getDimSize(0);
  }
  LLVM::StoreOp::create(b_, loc_, scale, block, 4);
  Value whole = sums.front();
  for (Value part : ArrayRef(sums).drop_front())
    whole = arith::AddIOp::create(b_, loc_, whole, part);
  storeSum(format, block, scale, whole, kActivationLength, 0);
  for (auto [part, sum] : llvm::enumerate(sums))
    if (format.partSums())
      storeSum(format, block, scale, sum, format.partLength, static_cast<uint32_t>(part));
}

LogicalResult Emitter::storeQuantized(tile::StoreOp op, tile::QuantizeOp quantize) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  const EmittedView &view = views_.find(op.getView())->second;
  const ActivationFormat *format = tile::activationFormatOf(type.getElementType());
  if (!format)
    return op.emitOpError() << "quantizes to " << type.getElementType()
                            << ", expected an activation format such as !tile.block<\"q8a\">";
  int64_t last = type.getRank() - 1;
  if (type.getNumElements() != type.getDimSize(last) || type.getDimSize(last) % kActivationLength)
    return op.emitOpError() << "stores a block of " << type << ", expected one row of whole groups";
  const Pieces pieces = relayout(tiles_.find(quantize.getValue())->second, last);
  SmallVector<Value> at = scalarsOf(op.getOffsets());
  Value firstColumn = at[last];
  int64_t perBlock = kActivationLength / facts_.lanes;
  for (int64_t start = 0, block = 0; start < type.getDimSize(last);
       start += kActivationLength, ++block) {
    at[last] = add(firstColumn, index(start));
    Place place = placeOf(view, at, -1);
    auto branch = scf::IfOp::create(b_, loc_, place.valid, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    Value index32 = arith::DivUIOp::create(b_, loc_, place.elements, index(kActivationLength));
    quantizeBlock(*format, ArrayRef(pieces.values).slice(block * perBlock, perBlock),
                  bytesAt(view.base, mul(index32, index(format->bytes()))));
  }
  return success();
}

} // namespace sinter::target::cpu
