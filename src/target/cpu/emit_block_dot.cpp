// Emission, products of blocks: an exact integer dot of each group, then its scales and minima, all
// derived from the format table.
#include "target/cpu/block_fields.h"
#include "target/cpu/emitter.h"

#include "numeric/dot_packing.h"

using namespace mlir;

namespace sinter::target::cpu {

namespace {

/// Products of one piece of b's rows (a vector of them) with every row of a, group by group.
class GroupDots {
public:
  GroupDots(OpBuilder &b, Location loc, const CpuFacts &facts, const DotPacking &packing,
            const ActivationFormat &activation, ArrayRef<Value> rows, Value base, uint32_t firstRow)
      : b_(b), loc_(loc), facts_(facts), packing_(packing), activation_(activation), rows_(rows),
        blocks_(b, loc, base, packing, firstRow, facts.lanes), fields_(b, loc, blocks_),
        floats_(VectorType::get({facts.lanes}, b.getF32Type())),
        words_(VectorType::get({facts.lanes}, b.getI32Type())),
        bytes_(VectorType::get({facts.lanes * 4}, b.getI8Type())) {}

  /// sums[row] += the group that begins at `element` of the block: an exact integer dot, then the
  /// scales, then the minima.
  void add(uint32_t element, MutableArrayRef<Value *> sums);

private:
  SmallVector<Value> integerDots(uint32_t element);
  Value codesOf(const CodeGroup &group);
  Value partOf(const CodePart &part);
  Value fromTable(Value codes);
  Value startOf(Value row, uint32_t element);
  Value byteDot(Value acc, Value codes, Value activation);
  /// A number of a's block that holds the element, in all lanes.
  Value spread(Value row, uint32_t element, uint32_t offset, VectorType type);

  Value constant(VectorType type, int64_t value) {
    auto attribute = b_.getIntegerAttr(type.getElementType(), value);
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, Attribute(attribute)));
  }
  uint32_t part(uint32_t element) { return element % kActivationLength / packing_.groupLength; }

  OpBuilder &b_;
  Location loc_;
  const CpuFacts &facts_;
  const DotPacking &packing_;
  const ActivationFormat &activation_;
  ArrayRef<Value> rows_; // the first block of each row of a
  PackedBlocks blocks_;
  FieldReader fields_;
  VectorType floats_, words_, bytes_;
};

} // namespace

Value GroupDots::spread(Value row, uint32_t element, uint32_t offset, VectorType type) {
  auto at = static_cast<int32_t>(element / kActivationLength * activation_.bytes() + offset);
  Value from =
      LLVM::GEPOp::create(b_, loc_, row.getType(), b_.getI8Type(), row, ArrayRef<LLVM::GEPArg>{at});
  Value scalar = LLVM::LoadOp::create(b_, loc_, type.getElementType(), from, 4);
  return vector::BroadcastOp::create(b_, loc_, type, scalar);
}

Value GroupDots::byteDot(Value acc, Value codes, Value activation) {
  if (facts_.vnni) {
    Value a = LLVM::BitcastOp::create(b_, loc_, bytes_, activation);
    return LLVM::CallIntrinsicOp::create(b_, loc_, words_,
                                         b_.getStringAttr("llvm.x86.avx512.vpdpbusd.512"),
                                         ValueRange{acc, codes, a})
        .getResult(0);
  }
  Value packed = LLVM::BitcastOp::create(b_, loc_, words_, codes);
  for (int64_t i = 0; i < 4; ++i) {
    Value weight = arith::AndIOp::create(
        b_, loc_, arith::ShRUIOp::create(b_, loc_, packed, constant(words_, 8 * i)),
        constant(words_, 255));
    Value value = arith::ShLIOp::create(b_, loc_, activation, constant(words_, 24 - 8 * i));
    value = arith::ShRSIOp::create(b_, loc_, value, constant(words_, 24));
    acc = arith::AddIOp::create(b_, loc_, acc, arith::MulIOp::create(b_, loc_, weight, value));
  }
  return acc;
}

// Where a row's integer sum starts: what the codes' zero point takes off. The stored start is that
// of kActivationStartZero, which leaves no remainder.
Value GroupDots::startOf(Value row, uint32_t element) {
  if (!packing_.zero)
    return constant(words_, 0);
  auto divisor = static_cast<int32_t>(std::gcd(packing_.zero, kActivationStartZero));
  uint32_t offset = activation_.startOffset(packing_.groupLength, part(element));
  Value start = spread(row, element, offset, words_);
  if (divisor != kActivationStartZero)
    start = arith::ShRSIOp::create(b_, loc_, start,
                                   constant(words_, llvm::Log2_32(kActivationStartZero / divisor)));
  if (divisor != packing_.zero)
    start = arith::MulIOp::create(b_, loc_, start, constant(words_, packing_.zero / divisor));
  return start;
}

// Bits of four codes of each row at their place.
Value GroupDots::partOf(const CodePart &part) {
  Value bits = blocks_.codes(part.byte);
  if (part.shift)
    bits = arith::ShRUIOp::create(b_, loc_, bits, constant(bytes_, part.shift));
  if (part.shift + part.width < 8)
    bits = arith::AndIOp::create(b_, loc_, bits,
                                 constant(bytes_, static_cast<int8_t>((1 << part.width) - 1)));
  if (part.to)
    bits = arith::ShLIOp::create(b_, loc_, bits, constant(bytes_, part.to));
  return bits;
}

Value GroupDots::fromTable(Value codes) {
  SmallVector<int8_t> entries;
  for (int64_t lane = 0; lane < bytes_.getNumElements(); ++lane)
    entries.push_back(static_cast<int8_t>(packing_.table[lane % packing_.table.size()]));
  Value table =
      arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(bytes_, ArrayRef(entries)));
  StringRef shuffle =
      bytes_.getNumElements() == 64 ? "llvm.x86.avx512.pshuf.b.512" : "llvm.x86.avx2.pshuf.b";
  return LLVM::CallIntrinsicOp::create(b_, loc_, bytes_, b_.getStringAttr(shuffle),
                                       ValueRange{table, codes})
      .getResult(0);
}

Value GroupDots::codesOf(const CodeGroup &group) {
  Value codes;
  for (const CodePart &part : group.used()) {
    Value bits = partOf(part);
    codes = codes ? arith::OrIOp::create(b_, loc_, codes, bits).getResult() : bits;
  }
  return packing_.table.empty() ? codes : fromTable(codes);
}

// Exact integer dots with every row of a. Rows are the innermost loop, so that neighbouring
// instructions are independent; groups that read the same unit follow one another.
SmallVector<Value> GroupDots::integerDots(uint32_t element) {
  SmallVector<Value> dots =
      llvm::map_to_vector(rows_, [&](Value row) { return startOf(row, element); });
  auto order =
      llvm::to_vector(llvm::seq<uint32_t>(element / 4, (element + packing_.groupLength) / 4));
  llvm::stable_sort(order, [&](uint32_t x, uint32_t y) {
    return packing_.groups[x].parts[0].byte < packing_.groups[y].parts[0].byte;
  });
  for (uint32_t group : order) {
    Value codes = codesOf(packing_.groups[group]);
    uint32_t offset = activation_.codeOffset() + 4 * group % kActivationLength;
    for (auto [dot, row] : llvm::zip_equal(dots, rows_))
      dot = byteDot(dot, codes, spread(row, element, offset, words_));
  }
  return dots;
}

void GroupDots::add(uint32_t element, MutableArrayRef<Value *> sums) {
  const BlockFormat &format = *packing_.format;
  SmallVector<Value> dots = integerDots(element);
  Value scaleB = fields_.factor(format.scale, element), minB;
  if (format.min.present())
    minB = arith::NegFOp::create(b_, loc_, fields_.factor(format.min, element));
  uint32_t sumOffset = activation_.scaledSumOffset(packing_.groupLength, part(element));
  for (auto [sum, dot, row] : llvm::zip_equal(sums, dots, rows_)) {
    Value scale =
        arith::MulFOp::create(b_, loc_, scaleB, spread(row, element, /*offset=*/0, floats_));
    Value number = arith::SIToFPOp::create(b_, loc_, floats_, dot);
    *sum = math::FmaOp::create(b_, loc_, number, scale, *sum);
    if (minB)
      *sum = math::FmaOp::create(b_, loc_, minB, spread(row, element, sumOffset, floats_), *sum);
  }
}

// What the operands of a product must be, or an error.
FailureOr<DotPacking> Emitter::blockDotPacking(tile::DotOp op, const EmittedView &a,
                                               const EmittedView &w) {
  const BlockFormat *format = tile::blockFormatOf(w.type.getElementType());
  Result<DotPacking> packing =
      format ? dotPacking(*format) : Result<DotPacking>(fail(Code::NotFound, "format is unknown"));
  if (!packing)
    return op.emitOpError() << packing.error().message;
  int64_t columns = cast<RankedTensorType>(op.getAcc().getType()).getDimSize(1);
  if (w.type.getInterleave() != kInterleavedRows || columns % kInterleavedRows)
    return op.emitOpError() << "reads b as " << w.type << " in blocks of " << columns
                            << " rows, expected whole groups of interleave = " << kInterleavedRows;
  const ActivationFormat *activation = tile::activationFormatOf(a.type.getElementType());
  if (!activation || packing->groupLength % activation->partLength)
    return op.emitOpError() << "multiplies by activations of " << a.type.getElementType()
                            << ", expected "
                            << StringRef(activationFormatFor(packing->groupLength).name).lower()
                            << " beside " << w.type.getElementType();
  int64_t depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1);
  if (depth != format->blockLength)
    return op.emitOpError() << "multiplies " << depth << " elements at once, expected blocks of "
                            << format->blockLength;
  return *packing;
}

LogicalResult Emitter::emitBlockDot(tile::DotOp op) {
  auto accType = cast<RankedTensorType>(op.getAcc().getType());
  auto loadA = op.getA().getDefiningOp<tile::LoadOp>(),
       loadB = op.getB().getDefiningOp<tile::LoadOp>();
  if (!loadA || !loadB)
    return op.emitOpError() << "needs block-format operands loaded from views";
  const EmittedView &a = views_.find(loadA.getView())->second,
                    &w = views_.find(loadB.getView())->second;
  FailureOr<DotPacking> packing = blockDotPacking(op, a, w);
  if (failed(packing))
    return failure();
  const BlockFormat &format = *packing->format;
  const ActivationFormat &activation = *tile::activationFormatOf(a.type.getElementType());
  SmallVector<Value> atA = scalarsOf(loadA.getOffsets()), atB = scalarsOf(loadB.getOffsets());
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, canonicalLane(accType.getShape()));
  Value kBlock = arith::DivUIOp::create(b_, loc_, atB[1], index(format.blockLength));
  Value rowBlocks = arith::DivUIOp::create(b_, loc_, w.strides[0], index(format.blockLength));
  int64_t rows = accType.getDimSize(0), perRow = piecesAlong(accType.getDimSize(1));
  int64_t depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1);
  SmallVector<Value> rowsA;
  for (int64_t r = 0; r < rows; ++r)
    rowsA.push_back(
        blockPointer(a, add(atA[0], index(r)), atA[1], kActivationLength, activation.bytes()));
  int64_t halves = kInterleavedRows / facts_.lanes; // vectors per group of rows
  for (int64_t p = 0; p < perRow; ++p) {
    Value group = arith::DivUIOp::create(b_, loc_, add(atB[0], index(p * facts_.lanes)),
                                         index(kInterleavedRows));
    Value block = add(mul(group, rowBlocks), kBlock);
    Value base = bytesAt(w.base, mul(block, index(int64_t(format.blockBytes) * kInterleavedRows)));
    SmallVector<Value *> sums;
    for (int64_t r = 0; r < rows; ++r)
      sums.push_back(&acc.values[r * perRow + p]);
    GroupDots dots(b_, loc_, facts_, *packing, activation, rowsA, base,
                   static_cast<uint32_t>((p % halves) * facts_.lanes));
    for (uint32_t element = 0; element < depth; element += packing->groupLength)
      dots.add(element, sums);
  }
  tiles_[op.getResult()] = acc;
  return success();
}

} // namespace sinter::target::cpu
