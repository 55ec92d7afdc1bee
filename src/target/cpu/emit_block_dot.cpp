// Emission, products of blocks: an exact integer dot of each group, then its scales and minima, all
// derived from the format table.
#include "target/cpu/dot_operand.h"
#include "target/cpu/emitter.h"

#include <numeric>

using namespace mlir;

namespace sinter::target::cpu {

namespace {

/// Sums of products by vector of columns and row of a.
using Sums = SmallVector<SmallVector<Value *>>;

/// Products of some vectors of b's rows with every row of a, group by group. All operands have the
/// same groups.
class GroupDots {
public:
  GroupDots(OpBuilder &b, Location loc, const CpuFacts &facts, ArrayRef<DotOperand *> operands,
            const ActivationFormat &activation, ArrayRef<Value> rows)
      : b_(b), loc_(loc), facts_(facts), operands_(operands), activation_(activation), rows_(rows),
        floats_(VectorType::get({facts.lanes}, b.getF32Type())),
        words_(VectorType::get({facts.lanes}, b.getI32Type())),
        bytes_(VectorType::get({facts.lanes * 4}, b.getI8Type())) {}

  /// sums[vector][row] += the group that begins at `element`: an exact integer dot times b's scale,
  /// then the minima.
  void add(uint32_t element, const Sums &sums);
  /// acc[row] += sums[row] times a's scale at `element`.
  void addScaled(uint32_t element, ArrayRef<Value> sums, ArrayRef<Value *> acc);

private:
  SmallVector<SmallVector<Value>> integerDots(uint32_t element);
  void addVector(uint32_t element, DotOperand &operand, ArrayRef<Value> dots,
                 ArrayRef<Value *> sums);
  Value startOf(Value row, uint32_t element);
  Value callOf(const char *name, ValueRange operands); // of an instruction that gives words
  Value halfOf(Value bytes, bool second, bool isSigned);
  Value pairSums(Value acc, Value sums);
  Value wordDots(Value acc, Value codes, Value activation);
  Value byteDot(Value acc, Value codes, Value activation);
  /// A number of a's block that holds the element, in all lanes.
  Value spread(Value row, uint32_t element, uint32_t offset, VectorType type);

  Value constant(int64_t value) {
    return arith::ConstantOp::create(b_, loc_,
                                     DenseElementsAttr::get(words_, static_cast<int32_t>(value)));
  }
  uint32_t groupLength() { return operands_.front()->groupLength(); }
  uint32_t part(uint32_t element) { return element % kActivationLength / groupLength(); }

  OpBuilder &b_;
  Location loc_;
  const CpuFacts &facts_;
  ArrayRef<DotOperand *> operands_;
  const ActivationFormat &activation_;
  ArrayRef<Value> rows_; // the first block of each row of a
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

Value GroupDots::callOf(const char *name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b_, loc_, words_, b_.getStringAttr(name), operands)
      .getResult(0);
}

// The first or the second byte of every pair as a word.
Value GroupDots::halfOf(Value bytes, bool second, bool isSigned) {
  auto type = VectorType::get({facts_.lanes * 2}, b_.getI16Type());
  Value pairs = LLVM::BitcastOp::create(b_, loc_, type, bytes);
  Value eight = arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, int16_t(8)));
  if (!second)
    pairs = arith::ShLIOp::create(b_, loc_, pairs, eight);
  return isSigned ? arith::ShRSIOp::create(b_, loc_, pairs, eight).getResult()
                  : arith::ShRUIOp::create(b_, loc_, pairs, eight).getResult();
}

// Pairs of products summed: of signed bytes, one of which is no less than -127, they fit a word.
Value GroupDots::pairSums(Value acc, Value sums) {
  Value pairs = LLVM::BitcastOp::create(b_, loc_, words_, sums);
  Value half = constant(16);
  Value low = arith::ShRSIOp::create(b_, loc_, arith::ShLIOp::create(b_, loc_, pairs, half), half);
  Value high = arith::ShRSIOp::create(b_, loc_, pairs, half);
  return arith::AddIOp::create(b_, loc_, arith::AddIOp::create(b_, loc_, acc, low), high);
}

// Without an instruction on bytes: products of words, of every second byte each time.
Value GroupDots::wordDots(Value acc, Value codes, Value activation) {
  const CpuInstructions &has = facts_.instructions;
  Value sums;
  for (bool second : {false, true}) {
    Value x = halfOf(codes, second, has.signedBytes), y = halfOf(activation, second, true);
    if (has.wordDot) {
      acc = arith::AddIOp::create(b_, loc_, acc, callOf(has.wordDot, {x, y}));
      continue;
    }
    Value product = arith::MulIOp::create(b_, loc_, x, y);
    sums = sums ? arith::AddIOp::create(b_, loc_, sums, product).getResult() : product;
  }
  return sums ? pairSums(acc, sums) : acc;
}

Value GroupDots::byteDot(Value acc, Value codes, Value activation) {
  if (!facts_.instructions.byteDot)
    return wordDots(acc, codes, activation);
  Value a = LLVM::BitcastOp::create(b_, loc_, bytes_, activation);
  return callOf(facts_.instructions.byteDot, {acc, codes, a});
}

// Where a row's integer sum starts: what the codes' zero point takes off. The stored start is that
// of kActivationStartZero, which leaves no remainder.
Value GroupDots::startOf(Value row, uint32_t element) {
  int32_t zero = operands_.front()->zero();
  if (!zero)
    return constant(0);
  auto divisor = static_cast<int32_t>(std::gcd(zero, kActivationStartZero));
  uint32_t offset = activation_.startOffset(groupLength(), part(element));
  Value start = spread(row, element, offset, words_);
  if (divisor != kActivationStartZero)
    start = arith::ShRSIOp::create(b_, loc_, start,
                                   constant(llvm::Log2_32(kActivationStartZero / divisor)));
  if (divisor != zero)
    start = arith::MulIOp::create(b_, loc_, start, constant(zero / divisor));
  return start;
}

// Exact integer dots with every row of a, which is read once for all vectors. Rows are the
// innermost loop but for them, so that neighbouring instructions are independent.
SmallVector<SmallVector<Value>> GroupDots::integerDots(uint32_t element) {
  SmallVector<Value> starts =
      llvm::map_to_vector(rows_, [&](Value row) { return startOf(row, element); });
  SmallVector<SmallVector<Value>> dots(operands_.size(), starts);
  for (uint32_t group : operands_.front()->order(element)) {
    SmallVector<Value> codes =
        llvm::map_to_vector(operands_, [&](DotOperand *operand) { return operand->codes(group); });
    uint32_t offset = activation_.codeOffset() + 4 * group % kActivationLength;
    for (auto [at, row] : llvm::enumerate(rows_)) {
      Value activation = spread(row, element, offset, words_);
      for (auto [vector, code] : llvm::zip_equal(dots, codes))
        vector[at] = byteDot(vector[at], code, activation);
    }
  }
  return dots;
}

void GroupDots::add(uint32_t element, const Sums &sums) {
  SmallVector<SmallVector<Value>> dots = integerDots(element);
  for (auto [operand, vector, into] : llvm::zip_equal(operands_, dots, sums))
    addVector(element, *operand, vector, into);
}

void GroupDots::addVector(uint32_t element, DotOperand &operand, ArrayRef<Value> dots,
                          ArrayRef<Value *> sums) {
  Value scaleB = operand.scale(element), minB = operand.min(element);
  if (minB)
    minB = arith::NegFOp::create(b_, loc_, minB);
  uint32_t sumOffset = activation_.sumOffset(groupLength(), part(element));
  for (auto [sum, dot, row] : llvm::zip_equal(sums, dots, rows_)) {
    Value number = arith::SIToFPOp::create(b_, loc_, floats_, dot);
    *sum = math::FmaOp::create(b_, loc_, number, scaleB, *sum);
    if (minB)
      *sum = math::FmaOp::create(b_, loc_, minB, spread(row, element, sumOffset, floats_), *sum);
  }
}

void GroupDots::addScaled(uint32_t element, ArrayRef<Value> sums, ArrayRef<Value *> acc) {
  for (auto [sum, into, row] : llvm::zip_equal(sums, acc, rows_))
    *into = math::FmaOp::create(b_, loc_, sum, spread(row, element, /*offset=*/0, floats_), *into);
}

static std::string lowerName(const ActivationFormat &format) {
  return StringRef(format.name).lower();
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
                            << lowerName(
                                   activationFormatFor(packing->groupLength, format->blockLength))
                            << " beside " << w.type.getElementType();
  int64_t depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1);
  int64_t whole = std::lcm(format->blockLength, activation->scaleLength);
  if (depth != whole)
    return op.emitOpError() << "multiplies " << depth << " elements at once, expected " << whole
                            << " of whole blocks and scales";
  return *packing;
}

// The blocks of b at a load's place: one block along K of the vector of rows that begins at `row`.
Value Emitter::packedBlocks(const EmittedView &w, const BlockFormat &format, ArrayRef<Value> at,
                            int64_t row) {
  Value group = arith::DivUIOp::create(b_, loc_, add(at[0], index(row)), index(kInterleavedRows));
  Value rowBlocks = arith::DivUIOp::create(b_, loc_, w.strides[0], index(format.blockLength));
  Value kBlock = arith::DivUIOp::create(b_, loc_, at[1], index(format.blockLength));
  Value block = add(mul(group, rowBlocks), kBlock);
  return bytesAt(w.base, mul(block, index(int64_t(format.blockBytes) * kInterleavedRows)));
}

// The first block of each row: rows at constant distances where K is static, so that one register
// addresses all of them.
SmallVector<Value> Emitter::activationRows(tile::LoadOp load, const ActivationFormat &activation) {
  const EmittedView &a = views_.find(load.getView())->second;
  SmallVector<Value> at = scalarsOf(load.getOffsets());
  Value rowBlocks = b_.createOrFold<arith::DivUIOp>(loc_, a.strides[0], index(kActivationLength));
  Value rowBytes = mul(rowBlocks, index(activation.bytes()));
  Value column =
      arith::DivUIOp::create(b_, loc_, add(at[1], a.origin[1]), index(kActivationLength));
  Value first = bytesAt(a.base, mul(add(at[0], a.origin[0]), rowBytes));
  first = bytesAt(first, mul(column, index(activation.bytes())));
  SmallVector<Value> rows;
  for (int64_t r = 0; r < cast<RankedTensorType>(load.getType()).getDimSize(0); ++r)
    rows.push_back(r ? bytesAt(first, mul(rowBytes, index(r))) : first);
  return rows;
}

// The rows' blocks of activations so many elements further.
SmallVector<Value> Emitter::blocksBeyond(ArrayRef<Value> rows, const ActivationFormat &activation,
                                         int64_t elements) {
  int64_t bytes = elements / kActivationLength * activation.bytes();
  return llvm::map_to_vector(rows,
                             [&](Value row) { return bytes ? bytesAt(row, index(bytes)) : row; });
}

// The sums of each row in one vector of columns.
static SmallVector<Value *> sumsOf(Pieces &acc, int64_t piece, int64_t perRow) {
  SmallVector<Value *> sums;
  for (size_t at = piece; at < acc.values.size(); at += perRow)
    sums.push_back(&acc.values[at]);
  return sums;
}

static SmallVector<Value *> pointersTo(MutableArrayRef<Value> values) {
  return llvm::map_to_vector(values, [](Value &value) { return &value; });
}

// Of `steps` equal shares of the lines of some packed blocks, which lie `ahead` bytes further, one.
void Emitter::emitFetchShare(Value blocks, const BlockFormat &format, int64_t ahead, int64_t step,
                             int64_t steps) {
  int64_t lines = llvm::divideCeil(int64_t(format.blockBytes) * kInterleavedRows, kLineBytes);
  for (int64_t line = step * lines / steps; line < (step + 1) * lines / steps; ++line)
    emitPrefetchAt(bytesAt(blocks, index(ahead + line * kLineBytes)), kFirstCache);
}

// No instruction: LLVM moves no access to memory across it. It would gather all fetches of a block,
// and what they wait for each other the block's own loads wait too (8 rows of q6_k: 2.4 times as
// long). Scales that several groups share are read once more for each.
void Emitter::keepMemoryOrder() {
  LLVM::FenceOp::create(b_, loc_, LLVM::AtomicOrdering::seq_cst, "singlethread");
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
  SmallVector<Value> atB = scalarsOf(loadB.getOffsets());
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, canonicalLane(accType.getShape()));
  SmallVector<Value> rowsA = activationRows(loadA, activation);
  auto ahead = dyn_cast_or_null<IntegerAttr>(op->getDiscardableAttr(kFetchAhead));
  const int64_t depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1);
  const int64_t groups = format.blockLength / packing->groupLength;
  const int64_t steps = groups * kInterleavedRows / facts_.lanes;
  const int64_t together = activation.scaleLength / packing->groupLength; // share a scale of a
  auto floats = VectorType::get({facts_.lanes}, b_.getF32Type());
  Value zero = arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(floats, -0.0f));
  GroupDots scales(b_, loc_, facts_, {}, activation, rowsA);
  for (int64_t p = 0, perRow = piecesAlong(accType.getDimSize(1)); p < perRow; ++p) {
    int64_t row = p * facts_.lanes, inGroup = row % kInterleavedRows;
    Value first = packedBlocks(w, format, atB, row);
    SmallVector<Value> sums;
    for (int64_t at = 0; at < depth; at += format.blockLength) {
      Value blocks =
          bytesAt(first, index(at / format.blockLength * format.blockBytes * kInterleavedRows));
      PackedOperand operand(b_, loc_, facts_, *packing, blocks, static_cast<uint32_t>(inGroup));
      DotOperand *vector = &operand;
      SmallVector<Value> rows = blocksBeyond(rowsA, activation, at);
      GroupDots dots(b_, loc_, facts_, vector, activation, rows);
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t all = at / packing->groupLength + g;
        if (ahead)
          emitFetchShare(blocks, format, ahead.getInt(), inGroup / facts_.lanes * groups + g,
                         steps);
        if (all % together == 0)
          sums.assign(rowsA.size(), zero);
        dots.add(static_cast<uint32_t>(g) * packing->groupLength, Sums{pointersTo(sums)});
        if ((all + 1) % together == 0)
          scales.addScaled(static_cast<uint32_t>(all + 1 - together) * packing->groupLength, sums,
                           sumsOf(acc, p, perRow));
        if (ahead)
          keepMemoryOrder();
      }
    }
  }
  tiles_[op.getResult()] = acc;
  return success();
}

// Registers of an expanded part, filled column by column.
static Pieces piecesOf(RankedTensorType type, int64_t perRow) {
  return {SmallVector<int64_t>(type.getShape()), 1, false,
          SmallVector<Value>(type.getDimSize(0) * perRow)};
}

LogicalResult Emitter::emitExpand(sched::ExpandOp op) {
  auto load = op.getBlocks().getDefiningOp<tile::LoadOp>();
  if (!load)
    return op.emitOpError() << "needs blocks loaded from a view";
  const EmittedView &w = views_.find(load.getView())->second;
  const BlockFormat &format = *tile::blockFormatOf(w.type.getElementType());
  Result<DotPacking> packing = dotPacking(format);
  if (!packing || w.type.getInterleave() != kInterleavedRows)
    return op.emitOpError() << "expands " << w.type
                            << ", expected interleave = " << kInterleavedRows
                            << " of a format that has a packing";
  if (op.getMins() && packing->zero != 0)
    return op.emitOpError() << "expands " << w.type
                            << ", which has minima: expected numbers of at least 0";
  int32_t zero = panelZeroOf(facts_, static_cast<bool>(op.getMins()));
  SmallVector<Value> at = scalarsOf(load.getOffsets());
  auto wordType = cast<RankedTensorType>(op.getWords().getType());
  auto factorType = cast<RankedTensorType>(op.getScales().getType());
  int64_t perRow = piecesAlong(wordType.getDimSize(1));
  Pieces words = piecesOf(wordType, perRow), scales = piecesOf(factorType, perRow), mins = scales;
  auto first = static_cast<uint32_t>(op.getPart() * kActivationLength);
  auto word = VectorType::get({facts_.lanes}, b_.getI32Type());
  for (int64_t p = 0; p < perRow; ++p) {
    int64_t row = p * facts_.lanes;
    PackedOperand operand(b_, loc_, facts_, *packing, packedBlocks(w, format, at, row),
                          static_cast<uint32_t>(row % kInterleavedRows));
    for (int64_t i = 0; i < wordType.getDimSize(0); ++i) {
      Value codes = operand.codes(first / 4 + static_cast<uint32_t>(i), zero);
      words.values[i * perRow + p] = LLVM::BitcastOp::create(b_, loc_, word, codes);
    }
    for (int64_t g = 0; g < factorType.getDimSize(0); ++g) {
      uint32_t element = first + static_cast<uint32_t>(g) * packing->groupLength;
      scales.values[g * perRow + p] = operand.scale(element);
      if (op.getMins())
        mins.values[g * perRow + p] = operand.min(element);
    }
  }
  tiles_[op.getWords()] = words;
  tiles_[op.getScales()] = scales;
  if (op.getMins())
    tiles_[op.getMins()] = mins;
  return success();
}

LogicalResult Emitter::emitPanelDot(sched::PanelDotOp op) {
  auto load = op.getA().getDefiningOp<tile::LoadOp>();
  if (!load)
    return op.emitOpError() << "needs activations loaded from a view";
  for (Value part : {op.getWords(), op.getScales(), op.getMins()})
    if (part && !part.getDefiningOp<sched::ReadOp>())
      return op.emitOpError() << "needs panels read from scratch";
  Type blocks = load.getView().getType().getElementType();
  const ActivationFormat &activation = *tile::activationFormatOf(blocks);
  auto accType = cast<RankedTensorType>(op.getAcc().getType());
  int64_t perRow = piecesAlong(accType.getDimSize(1));
  auto groups = cast<RankedTensorType>(op.getScales().getType()).getDimSize(0);
  auto length = static_cast<uint32_t>(kActivationLength / groups);
  if (length % activation.partLength)
    return op.emitOpError() << "multiplies by activations of " << blocks << ", expected sums of "
                            << length << " elements";
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, canonicalLane(accType.getShape()));
  SmallVector<Value> rowsA = activationRows(load, activation);
  SmallVector<std::unique_ptr<DotOperand>> vectors;
  Sums sums;
  for (int64_t p = 0; p < perRow; ++p) {
    auto rowsOf = [&](Value tile) -> PanelOperand::Rows {
      auto read = tile ? tile.getDefiningOp<sched::ReadOp>() : sched::ReadOp();
      if (!read)
        return {};
      return [this, read, p](uint32_t row) {
        return readPiece(read, {row, p * facts_.lanes}, facts_.lanes);
      };
    };
    vectors.push_back(std::make_unique<PanelOperand>(b_, loc_, facts_, length,
                                                     rowsOf(op.getWords()), rowsOf(op.getScales()),
                                                     rowsOf(op.getMins())));
    sums.push_back(sumsOf(acc, p, perRow));
  }
  SmallVector<DotOperand *> operands =
      llvm::map_to_vector(vectors, [](auto &vector) { return vector.get(); });
  GroupDots dots(b_, loc_, facts_, operands, activation, rowsA);
  for (uint32_t element = 0; element < kActivationLength; element += length)
    dots.add(element, sums);
  tiles_[op.getResult()] = acc;
  return success();
}

LogicalResult Emitter::emitAddScaled(sched::AddScaledOp op) {
  auto load = op.getA().getDefiningOp<tile::LoadOp>();
  if (!load)
    return op.emitOpError() << "needs activations loaded from a view";
  const ActivationFormat &activation =
      *tile::activationFormatOf(load.getView().getType().getElementType());
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  int64_t lanes = canonicalLane(type.getShape());
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, lanes),
         sums = relayout(tiles_.find(op.getSums())->second, lanes);
  SmallVector<Value> rowsA = activationRows(load, activation);
  GroupDots dots(b_, loc_, facts_, {}, activation, rowsA);
  int64_t perRow = piecesAlong(type.getDimSize(1));
  for (int64_t p = 0; p < perRow; ++p) {
    SmallVector<Value> column;
    for (Value *sum : sumsOf(sums, p, perRow))
      column.push_back(*sum);
    dots.addScaled(0, column, sumsOf(acc, p, perRow));
  }
  tiles_[op.getResult()] = acc;
  return success();
}

} // namespace sinter::target::cpu
