// Emission, block formats: where blocks lie, and rounding numbers to them.
#include "targets/cpu/emission/activation_blocks.h"
#include "targets/cpu/emission/emitter.h"

#include "numeric/formats/byte_blocks.h"

using namespace mlir;

namespace sinter::targets::cpu {

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

// Writes one block of signed bytes and a scale (numeric/formats/byte_blocks.h).
void Emitter::quantizeBlock(const ByteBlocks &format, ArrayRef<Value> vectors, Value block) {
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

// Writes of the activation blocks of each scale.
SmallVector<Emitter::WriteAt> Emitter::activationWrites(const ActivationFormat &format,
                                                        ArrayRef<ArrayRef<Value>> scales) {
  auto rounded =
      std::make_shared<SmallVector<QuantizedBlock>>(quantizeActivations(b_, loc_, format, scales));
  const size_t perScale = format.scaleLength / kActivationLength;
  SmallVector<WriteAt> writes;
  for (size_t scale = 0; scale < scales.size(); ++scale)
    writes.push_back([=, this, &format](Value blocks) {
      for (size_t at = 0; at < perScale; ++at)
        storeActivations(b_, loc_, format, (*rounded)[scale * perScale + at],
                         bytesAt(blocks, static_cast<int64_t>(at * format.bytes())));
    });
  return writes;
}

// How blocks of a format are written, with their length and bytes.
FailureOr<Emitter::BlockWriter> Emitter::blockWriter(tile::StoreOp op, Type element) {
  if (const ActivationFormat *format = tile::activationFormatOf(element))
    return BlockWriter{format->scaleLength,
                       int64_t(format->scaleLength) / kActivationLength * format->bytes(),
                       [this, format](ArrayRef<ArrayRef<Value>> scales) {
                         return activationWrites(*format, scales);
                       }};
  const BlockFormat *format = tile::blockFormatOf(element);
  if (!format)
    return op.emitOpError() << "quantizes to " << element << ", which is no known format";
  Result<ByteBlocks> bytes = byteBlocks(*format);
  if (!bytes)
    return op.emitOpError() << bytes.error().message;
  return BlockWriter{format->blockLength, format->blockBytes,
                     [this, bytes = *bytes](ArrayRef<ArrayRef<Value>> parts) {
                       return llvm::map_to_vector(parts, [&](ArrayRef<Value> vectors) -> WriteAt {
                         return [=, this](Value block) { quantizeBlock(bytes, vectors, block); };
                       });
                     }};
}

// Rounds what lies outside of the view too, and leaves it there.
LogicalResult Emitter::storeQuantized(tile::StoreOp op, tile::QuantizeOp quantize) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  const EmittedView &view = views_.find(op.getView())->second;
  FailureOr<BlockWriter> writer = blockWriter(op, type.getElementType());
  if (failed(writer))
    return failure();
  int64_t last = type.getRank() - 1, length = writer->length;
  if (type.getDimSize(last) % length)
    return op.emitOpError() << "stores a block of " << type << ", expected rows of whole groups";
  const Pieces pieces = relayout(tiles_.find(quantize.getValue())->second, last);
  SmallVector<ArrayRef<Value>> parts;
  for (ArrayRef<Value> rest = pieces.values; !rest.empty();
       rest = rest.drop_front(length / facts_.lanes))
    parts.push_back(rest.take_front(length / facts_.lanes));
  SmallVector<WriteAt> writes = writer->round(parts);
  SmallVector<int64_t> shape(type.getShape());
  shape[last] /= length;
  for (auto [number, write] : llvm::enumerate(writes)) {
    SmallVector<Value> at = scalarsOf(op.getOffsets());
    int64_t rest = static_cast<int64_t>(number);
    for (int64_t axis = last; axis >= 0; rest /= shape[axis--])
      at[axis] = add(at[axis], index(rest % shape[axis] * (axis == last ? length : 1)));
    Place place = placeOf(view, at, -1, 1);
    auto branch = scf::IfOp::create(b_, loc_, place.valid, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    Value block = arith::DivUIOp::create(b_, loc_, place.elements, index(length));
    write(bytesAt(view.base, mul(block, index(writer->bytes))));
  }
  return success();
}

} // namespace sinter::targets::cpu
