// Emission, block formats: integer dots per group and quantising, derived from the format table.
#include "target/cpu/emitter.h"

#include "numeric/dot_packing.h"

using namespace mlir;

namespace sinter::target::cpu {

static const BlockFormat *formatOf(Type element) {
  return findBlockFormat(cast<tile::BlockType>(element).getFormat().upper());
}

Value Emitter::bytesAt(Value base, Value offset) {
  return pointer(base, offset, b_.getI8Type());
}

Value Emitter::bytesAt(Value base, int64_t offset) {
  return LLVM::GEPOp::create(b_, loc_, base.getType(), b_.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

Value Emitter::loadAt(Value pointer, Type type, int64_t alignment) {
  return LLVM::LoadOp::create(b_, loc_, type, pointer, alignment);
}

// The block of row `row` at element `column`, as bytes in the view's own order. Both terms are
// whole blocks, so that a row's part stays outside of a loop over columns.
Value Emitter::blockPointer(const EmittedView &view, Value row, Value column, int64_t length,
                            int64_t bytes) {
  auto blocks = [&](Value elements) {
    return mul(arith::DivUIOp::create(b_, loc_, elements, index(length)), index(bytes));
  };
  Value start = bytesAt(view.base, blocks(mul(add(row, view.origin[0]), view.strides[0])));
  return bytesAt(start, blocks(add(column, view.origin[1])));
}

// ---- quantise ----

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

// Writes one q8a block from 32 f32 elements held in vectors.
void Emitter::quantizeBlock(ArrayRef<Value> vectors, Value block) {
  auto f32 = b_.getF32Type();
  auto constant = [&](float v) -> Value {
    return arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(v));
  };
  Value most = absMax(b_, loc_, vectors);
  Value scale = arith::DivFOp::create(b_, loc_, most, constant(127));
  Value isZero = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OEQ, most, constant(0));
  Value inverse = arith::DivFOp::create(b_, loc_, constant(1), scale);
  inverse = arith::SelectOp::create(b_, loc_, isZero, constant(0), inverse);
  Value sum;
  int64_t at = kActivationCodeOffset;
  for (Value v : vectors) {
    auto type = cast<VectorType>(v.getType());
    Value scaled =
        arith::MulFOp::create(b_, loc_, v, vector::BroadcastOp::create(b_, loc_, type, inverse));
    Value rounded = math::RoundEvenOp::create(b_, loc_, scaled);
    Value codes = codesOf(b_, loc_, rounded);
    Value part = vector::ReductionOp::create(b_, loc_, vector::CombiningKind::ADD, codes);
    sum = sum ? arith::AddIOp::create(b_, loc_, sum, part).getResult() : part;
    Value bytes = arith::TruncIOp::create(b_, loc_, type.clone(b_.getI8Type()), codes);
    LLVM::StoreOp::create(b_, loc_, bytes, bytesAt(block, at), 1);
    at += type.getDimSize(0);
  }
  LLVM::StoreOp::create(b_, loc_, scale, block, f32.getWidth() / 8);
  Value start = arith::MulIOp::create(
      b_, loc_, sum,
      arith::ConstantOp::create(b_, loc_, b_.getI32IntegerAttr(-kActivationStartZero)));
  LLVM::StoreOp::create(b_, loc_, start, bytesAt(block, kActivationStartOffset), 4);
  Value scaledSum =
      arith::MulFOp::create(b_, loc_, scale, arith::SIToFPOp::create(b_, loc_, f32, sum));
  LLVM::StoreOp::create(b_, loc_, scaledSum, bytesAt(block, kActivationScaledSumOffset), 4);
}

LogicalResult Emitter::storeQuantized(tile::StoreOp op, tile::QuantizeOp quantize) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  const EmittedView &view = views_.find(op.getView())->second;
  if (cast<tile::BlockType>(type.getElementType()).getFormat().upper() != kActivationName)
    return op.emitOpError() << "quantizes to " << type.getElementType()
                            << ", expected !tile.block<\"q8a\">";
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
    quantizeBlock(ArrayRef(pieces.values).slice(block * perBlock, perBlock),
                  bytesAt(view.base, mul(index32, index(kActivationBytes))));
  }
  return success();
}

// ---- dot ----

Value Emitter::byteDot(Value acc, Value codes, Value activation) {
  auto words = cast<VectorType>(acc.getType());
  auto bytes = VectorType::get({words.getDimSize(0) * 4}, b_.getI8Type());
  Value spread = vector::BroadcastOp::create(b_, loc_, words, activation);
  if (facts_.vnni) {
    Value a = LLVM::BitcastOp::create(b_, loc_, bytes, spread);
    return LLVM::CallIntrinsicOp::create(b_, loc_, words,
                                         b_.getStringAttr("llvm.x86.avx512.vpdpbusd.512"),
                                         ValueRange{acc, codes, a})
        .getResult(0);
  }
  Value packed = LLVM::BitcastOp::create(b_, loc_, words, codes);
  auto word = [&](int32_t v) -> Value {
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(words, v));
  };
  for (int32_t i = 0; i < 4; ++i) {
    Value weight = arith::AndIOp::create(
        b_, loc_, arith::ShRUIOp::create(b_, loc_, packed, word(8 * i)), word(255));
    Value value = arith::ShLIOp::create(b_, loc_, spread, word(24 - 8 * i));
    value = arith::ShRSIOp::create(b_, loc_, value, word(24));
    acc = arith::AddIOp::create(b_, loc_, acc, arith::MulIOp::create(b_, loc_, weight, value));
  }
  return acc;
}

LogicalResult Emitter::emitBlockDot(tile::DotOp op) {
  auto accType = cast<RankedTensorType>(op.getAcc().getType());
  auto loadA = op.getA().getDefiningOp<tile::LoadOp>(),
       loadB = op.getB().getDefiningOp<tile::LoadOp>();
  if (!loadA || !loadB)
    return op.emitOpError() << "needs block-format operands loaded from views";
  const EmittedView &a = views_.find(loadA.getView())->second,
                    &w = views_.find(loadB.getView())->second;
  const BlockFormat *format = formatOf(w.type.getElementType());
  Result<DotPacking> packing =
      format ? dotPacking(*format) : Result<DotPacking>(fail(Code::NotFound, "format is unknown"));
  if (!packing)
    return op.emitOpError() << packing.error().message;
  if (w.type.getInterleave() != kInterleavedRows || accType.getDimSize(1) % kInterleavedRows)
    return op.emitOpError() << "reads b as " << w.type << " in blocks of " << accType.getDimSize(1)
                            << " rows, expected whole groups of interleave = " << kInterleavedRows;
  if (cast<tile::BlockType>(a.type.getElementType()).getFormat().upper() != kActivationName)
    return op.emitOpError() << "multiplies by activations of " << a.type.getElementType()
                            << ", expected q8a";
  SmallVector<Value> atA = scalarsOf(loadA.getOffsets()), atB = scalarsOf(loadB.getOffsets());
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, canonicalLane(accType.getShape()));
  Value kBlock = arith::DivUIOp::create(b_, loc_, atB[1], index(format->blockLength));
  Value rowBlocks = arith::DivUIOp::create(b_, loc_, w.strides[0], index(format->blockLength));
  int64_t rows = accType.getDimSize(0), perRow = piecesAlong(accType.getDimSize(1));
  SmallVector<Value> blocksA;
  for (int64_t r = 0; r < rows; ++r)
    blocksA.push_back(
        blockPointer(a, add(atA[0], index(r)), atA[1], kActivationLength, kActivationBytes));
  int64_t halves = kInterleavedRows / facts_.lanes; // vectors per group of rows
  for (int64_t p = 0; p < perRow; ++p) {
    Value group = arith::DivUIOp::create(b_, loc_, add(atB[0], index(p * facts_.lanes)),
                                         index(kInterleavedRows));
    Value block = add(mul(group, rowBlocks), kBlock);
    Value base = bytesAt(w.base, mul(block, index(int64_t(format->blockBytes) * kInterleavedRows)));
    dotGroup(*packing, base, (p % halves) * facts_.lanes, blocksA, acc, p, perRow);
  }
  tiles_[op.getResult()] = acc;
  return success();
}

// The start of each row's integer sum: what the codes' zero point takes off.
SmallVector<Value> Emitter::dotStarts(const DotPacking &packing, ArrayRef<Value> blocksA,
                                      VectorType words) {
  SmallVector<Value> starts(blocksA.size(),
                            arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(words)));
  if (!packing.zero)
    return starts;
  // start * zero / 128 without a remainder: a shift where the zero is a power of two.
  auto divisor = static_cast<int32_t>(std::gcd(packing.zero, kActivationStartZero));
  auto splat = [&](int32_t v) -> Value {
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(words, v));
  };
  for (auto [start, block] : llvm::zip_equal(starts, blocksA)) {
    Value stored = loadAt(bytesAt(block, kActivationStartOffset), b_.getI32Type(), 4);
    start = vector::BroadcastOp::create(b_, loc_, words, stored);
    if (divisor != kActivationStartZero)
      start = arith::ShRSIOp::create(b_, loc_, start,
                                     splat(llvm::Log2_32(kActivationStartZero / divisor)));
    if (divisor != packing.zero)
      start = arith::MulIOp::create(b_, loc_, start, splat(packing.zero / divisor));
  }
  return starts;
}

// Exact integer dots of one group of 32 with every row of a. Rows are the innermost loop, so that
// neighbouring instructions are independent.
SmallVector<Value> Emitter::integerDots(const DotPacking &packing, Value codesBase,
                                        ArrayRef<Value> blocksA) {
  auto words = VectorType::get({facts_.lanes}, b_.getI32Type());
  auto bytes = VectorType::get({facts_.lanes * 4}, b_.getI8Type());
  auto splatByte = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b_, loc_,
                                     DenseElementsAttr::get(bytes, static_cast<int8_t>(v)));
  };
  SmallVector<Value> dots = dotStarts(packing, blocksA, words);
  for (uint32_t unit = 0; unit < packing.fields.back().bytes / 4; ++unit) {
    Value stored = loadAt(bytesAt(codesBase, int64_t(unit) * kInterleavedRows * 4), bytes, 4);
    for (auto [g, group] : llvm::enumerate(packing.groups)) {
      if (group.unit != unit)
        continue;
      Value codes = stored;
      if (group.shift)
        codes = arith::ShRUIOp::create(b_, loc_, codes, splatByte(group.shift));
      if (packing.mask != 0xff && group.shift + llvm::popcount(packing.mask) < 8)
        codes = arith::AndIOp::create(b_, loc_, codes, splatByte(packing.mask));
      for (auto [dot, block] : llvm::zip_equal(dots, blocksA))
        dot = byteDot(dot, codes,
                      loadAt(bytesAt(block, kActivationCodeOffset + 4 * g), b_.getI32Type(), 4));
    }
  }
  return dots;
}

// acc[r][piece] += one group of 32 for every row r: an exact integer dot, then the scales, then the
// minima.
void Emitter::dotGroup(const DotPacking &packing, Value base, int64_t firstRow,
                       ArrayRef<Value> blocksA, Pieces &acc, int64_t piece, int64_t perRow) {
  auto floats = VectorType::get({facts_.lanes}, b_.getF32Type());
  auto halves = VectorType::get({facts_.lanes}, b_.getF16Type());
  auto factor = [&](int64_t offset) -> Value {
    Value half = loadAt(bytesAt(base, offset * kInterleavedRows + firstRow * 2), halves, 2);
    return arith::ExtFOp::create(b_, loc_, floats, half);
  };
  auto spread = [&](Value block, int64_t offset) -> Value {
    Value scalar = loadAt(bytesAt(block, offset), b_.getF32Type(), 4);
    return vector::BroadcastOp::create(b_, loc_, floats, scalar);
  };
  int64_t codes = 0; // bytes of a row before its codes
  for (const PackedField &field : ArrayRef(packing.fields).drop_back())
    codes += field.bytes;
  SmallVector<Value> dots =
      integerDots(packing, bytesAt(base, codes * kInterleavedRows + firstRow * 4), blocksA);
  Value scaleB = factor(0), minB = packing.hasMin ? factor(packing.fields[0].bytes) : Value();
  if (packing.hasMin && packing.minSign > 0)
    minB = arith::NegFOp::create(b_, loc_, minB);
  for (auto [r, block] : llvm::enumerate(blocksA)) {
    Value &sum = acc.values[r * perRow + piece];
    Value scale = arith::MulFOp::create(b_, loc_, scaleB, spread(block, 0));
    Value dot = arith::SIToFPOp::create(b_, loc_, floats, dots[r]);
    sum = math::FmaOp::create(b_, loc_, dot, scale, sum);
    if (minB)
      sum = math::FmaOp::create(b_, loc_, minB, spread(block, kActivationScaledSumOffset), sum);
  }
}

} // namespace sinter::target::cpu
