// Emission, block formats: where blocks lie, and rounding numbers to them.
#include "target/cpu/emitter.h"

#include "numeric/activation_format.h"
#include "numeric/byte_blocks.h"

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

// Rounded to whole numbers, ties away from zero.
static Value roundedAway(OpBuilder &b, Location loc, Value x) {
  auto splat = [&](float v) -> Value {
    auto type = cast<VectorType>(x.getType());
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, v));
  };
  Value size = math::AbsFOp::create(b, loc, x), whole = math::FloorOp::create(b, loc, size);
  Value rest = arith::SubFOp::create(b, loc, size, whole);
  Value up = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, rest, splat(0.5f));
  Value next = arith::AddFOp::create(b, loc, whole, splat(1));
  whole = arith::SelectOp::create(b, loc, up, next, whole);
  return math::CopySignOp::create(b, loc, whole, x);
}

// Codes of numbers rounded so, no further than `most` from zero; of NaN, which comes only from the
// infinite inverse of a subnormal scale, the lowest.
static Value bytesOf(OpBuilder &b, Location loc, Value rounded, int32_t most) {
  auto type = cast<VectorType>(rounded.getType());
  auto pick = [&](arith::CmpFPredicate predicate, Value x, int32_t limit) -> Value {
    Value bound =
        arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, static_cast<float>(limit)));
    Value keeps = arith::CmpFOp::create(b, loc, predicate, x, bound);
    return arith::SelectOp::create(b, loc, keeps, x, bound);
  };
  Value inside = pick(arith::CmpFPredicate::OGT, rounded, -most);
  inside = pick(arith::CmpFPredicate::OLT, inside, most);
  Value codes = LLVM::FPToSIOp::create(b, loc, type.clone(b.getI32Type()), inside);
  return arith::TruncIOp::create(b, loc, type.clone(b.getI8Type()), codes);
}

// Writes one block of signed bytes and a scale (numeric/byte_blocks.h).
void Emitter::roundBlock(const ByteBlocks &format, ArrayRef<Value> vectors, Value block) {
  auto constant = [&](float v) -> Value {
    return arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(v));
  };
  auto most = static_cast<float>(format.largestCode);
  Value scale = arith::DivFOp::create(b_, loc_, absMax(b_, loc_, vectors), constant(most));
  Value isZero = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OEQ, scale, constant(0));
  Value inverse = arith::DivFOp::create(b_, loc_, constant(1), scale);
  inverse = arith::SelectOp::create(b_, loc_, isZero, constant(0), inverse);
  int64_t at = format.codeOffset;
  for (Value v : vectors) {
    auto type = cast<VectorType>(v.getType());
    Value scaled =
        arith::MulFOp::create(b_, loc_, v, vector::BroadcastOp::create(b_, loc_, type, inverse));
    Value bytes = bytesOf(b_, loc_, roundedAway(b_, loc_, scaled), format.largestCode);
    LLVM::StoreOp::create(b_, loc_, bytes, bytesAt(block, at), 1);
    at += type.getDimSize(0);
  }
  Value half = arith::TruncFOp::create(b_, loc_, b_.getF16Type(), scale);
  LLVM::StoreOp::create(b_, loc_, half, bytesAt(block, format.scaleOffset), 1);
}

// Writes the two numbers that come from the sum of `length` codes.
void Emitter::storeSum(const ActivationFormat &format, Value block, Value sum, uint32_t length,
                       uint32_t part) {
  Value zero = arith::ConstantOp::create(b_, loc_, b_.getI32IntegerAttr(-kActivationStartZero));
  Value start = arith::MulIOp::create(b_, loc_, sum, zero);
  LLVM::StoreOp::create(b_, loc_, start, bytesAt(block, format.startOffset(length, part)), 4);
  Value number = arith::SIToFPOp::create(b_, loc_, b_.getF32Type(), sum);
  LLVM::StoreOp::create(b_, loc_, number, bytesAt(block, format.sumOffset(length, part)), 4);
}

// Writes the blocks of one scale from f32 elements held in vectors.
void Emitter::quantizeBlocks(const ActivationFormat &format, ArrayRef<Value> vectors,
                             Value blocks) {
  auto constant = [&](float v) -> Value {
    return arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(v));
  };
  Value most = absMax(b_, loc_, vectors);
  Value scale = arith::DivFOp::create(b_, loc_, most, constant(127));
  Value isZero = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OEQ, most, constant(0));
  Value inverse = arith::DivFOp::create(b_, loc_, constant(1), scale);
  inverse = arith::SelectOp::create(b_, loc_, isZero, constant(0), inverse);
  int64_t perBlock = kActivationLength / facts_.lanes;
  for (int64_t at = 0; at * perBlock < static_cast<int64_t>(vectors.size()); ++at)
    quantizeBlock(format, vectors.slice(at * perBlock, perBlock), scale, inverse,
                  bytesAt(blocks, at * format.bytes()));
}

void Emitter::quantizeBlock(const ActivationFormat &format, ArrayRef<Value> vectors, Value scale,
                            Value inverse, Value block) {
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
  storeSum(format, block, whole, kActivationLength, 0);
  for (auto [part, sum] : llvm::enumerate(sums))
    if (format.partSums())
      storeSum(format, block, sum, format.partLength, static_cast<uint32_t>(part));
}

// How a block of a format is written, with its length and bytes.
FailureOr<Emitter::BlockWriter> Emitter::blockWriter(tile::StoreOp op, Type element) {
  if (const ActivationFormat *format = tile::activationFormatOf(element))
    return BlockWriter{format->scaleLength,
                       int64_t(format->scaleLength) / kActivationLength * format->bytes(),
                       [this, format](ArrayRef<Value> vectors, Value blocks) {
                         quantizeBlocks(*format, vectors, blocks);
                       }};
  const BlockFormat *format = tile::blockFormatOf(element);
  if (!format)
    return op.emitOpError() << "quantizes to " << element << ", which is no known format";
  Result<ByteBlocks> bytes = byteBlocks(*format);
  if (!bytes)
    return op.emitOpError() << bytes.error().message;
  return BlockWriter{format->blockLength, format->blockBytes,
                     [this, bytes = *bytes](ArrayRef<Value> vectors, Value block) {
                       roundBlock(bytes, vectors, block);
                     }};
}

LogicalResult Emitter::storeQuantized(tile::StoreOp op, tile::QuantizeOp quantize) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  const EmittedView &view = views_.find(op.getView())->second;
  FailureOr<BlockWriter> writer = blockWriter(op, type.getElementType());
  if (failed(writer))
    return failure();
  int64_t last = type.getRank() - 1, length = writer->length;
  if (type.getNumElements() != type.getDimSize(last) || type.getDimSize(last) % length)
    return op.emitOpError() << "stores a block of " << type << ", expected one row of whole groups";
  const Pieces pieces = relayout(tiles_.find(quantize.getValue())->second, last);
  SmallVector<Value> at = scalarsOf(op.getOffsets());
  Value firstColumn = at[last];
  int64_t perBlock = length / facts_.lanes;
  for (int64_t start = 0, block = 0; start < type.getDimSize(last); start += length, ++block) {
    at[last] = add(firstColumn, index(start));
    Place place = placeOf(view, at, -1, 1);
    auto branch = scf::IfOp::create(b_, loc_, place.valid, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    Value number = arith::DivUIOp::create(b_, loc_, place.elements, index(length));
    writer->write(ArrayRef(pieces.values).slice(block * perBlock, perBlock),
                  bytesAt(view.base, mul(number, index(writer->bytes))));
  }
  return success();
}

} // namespace sinter::target::cpu
