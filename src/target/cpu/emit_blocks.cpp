// Emission, block formats: where blocks lie, and rounding numbers to them.
#include "target/cpu/activation_blocks.h"
#include "target/cpu/emitter.h"

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
  Value largest = vector::ExtractOp::create(b_, loc_, largestMagnitude(b_, loc_, vectors), 0);
  Value scale = arith::DivFOp::create(b_, loc_, largest, constant(most));
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

// How a block of a format is written, with its length and bytes.
FailureOr<Emitter::BlockWriter> Emitter::blockWriter(tile::StoreOp op, Type element) {
  if (const ActivationFormat *format = tile::activationFormatOf(element))
    return BlockWriter{format->scaleLength,
                       int64_t(format->scaleLength) / kActivationLength * format->bytes(),
                       [this, format](ArrayRef<Value> vectors, Value blocks) {
                         emitActivationBlocks(b_, loc_, *format, vectors, blocks);
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
