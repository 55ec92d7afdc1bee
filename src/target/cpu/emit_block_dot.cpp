// Emission, products of blocks: packed ones as they lie in memory, and panels of expanded ones.
#include "target/cpu/emitter.h"
#include "target/cpu/group_dots.h"

#include <numeric>

using namespace mlir;

namespace sinter::target::cpu {

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

/// Some packed blocks along K of one vector of rows.
struct Emitter::BlockStream {
  const DotPacking &packing;
  const ActivationFormat &activation;
  Value first;     // block
  int64_t inGroup; // of packed rows, the first
  int64_t ahead;   // bytes that blocks are fetched ahead; 0: not at all

  int64_t groups() const { return packing.format->blockLength / packing.groupLength; }
};

// The lines of the blocks ahead that `count` groups from `group` on ask for.
void Emitter::emitFetchShares(const BlockStream &stream, Value blocks, int64_t group,
                              int64_t count) {
  const int64_t steps = stream.groups() * kInterleavedRows / facts_.lanes;
  const int64_t before = stream.inGroup / facts_.lanes * stream.groups();
  for (int64_t g = before + group; stream.ahead && g < before + group + count; ++g)
    emitFetchShare(blocks, *stream.packing.format, stream.ahead, g, steps);
}

// acc[row] += the products of `depth` elements along K.
void Emitter::emitVectorDot(const BlockStream &stream, ArrayRef<Value> rowsA, int64_t depth,
                            ArrayRef<Value *> acc) {
  const BlockFormat &format = *stream.packing.format;
  const uint32_t length = stream.packing.groupLength, scaled = stream.activation.scaleLength;
  const GroupScales how = groupScalesOf(format, stream.activation, facts_);
  auto floats = VectorType::get({facts_.lanes}, b_.getF32Type());
  Value zero =
      how.integers
          ? arith::ConstantOp::create(
                b_, loc_, DenseElementsAttr::get(floats.clone(b_.getI32Type()), int32_t(0)))
          : arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(floats, -0.0f));
  GroupDots scales(b_, loc_, facts_, {}, stream.activation, rowsA);
  SmallVector<Value> sums;
  for (int64_t at = 0; at < depth; at += format.blockLength) {
    int64_t bytes = at / format.blockLength * format.blockBytes * kInterleavedRows;
    Value blocks = bytesAt(stream.first, index(bytes));
    PackedOperand operand(b_, loc_, facts_, stream.packing, blocks,
                          static_cast<uint32_t>(stream.inGroup));
    DotOperand *vector = &operand;
    SmallVector<Value> rows = blocksBeyond(rowsA, stream.activation, at);
    GroupDots dots(b_, loc_, facts_, vector, stream.activation, rows);
    for (uint32_t g = 0; g < stream.groups(); g += how.together()) {
      const uint32_t element = g * length, all = static_cast<uint32_t>(at) + element;
      const uint32_t end = element + how.together() * length;
      emitFetchShares(stream, blocks, g, how.together());
      if (all % scaled == 0)
        sums.assign(rowsA.size(), zero);
      how.integers ? dots.addTotals(element, how, Sums{pointersTo(sums)})
                   : dots.add(element, Sums{pointersTo(sums)});
      if ((at + end) % scaled == 0) {
        if (how.integers)
          sums = dots.scaledTotals(operand, scaled, sums);
        scales.addScaled(static_cast<uint32_t>(at) + end - scaled, sums, acc);
      }
      if (stream.ahead)
        keepMemoryOrder();
    }
  }
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
  for (int64_t p = 0, perRow = piecesAlong(accType.getDimSize(1)); p < perRow; ++p) {
    int64_t row = p * facts_.lanes;
    BlockStream stream{*packing, activation, packedBlocks(w, format, atB, row),
                       row % kInterleavedRows, ahead ? ahead.getInt() : 0};
    emitVectorDot(stream, rowsA, depth, sumsOf(acc, p, perRow));
  }
  tiles_[op.getResult()] = acc;
  return success();
}

// Registers of an expanded part, filled column by column.
static Pieces piecesOf(RankedTensorType type, int64_t perRow) {
  return {SmallVector<int64_t>(type.getShape()), 1, false,
          SmallVector<Value>(type.getDimSize(0) * perRow)};
}

// One vector of the packed blocks that an operation makes panels of; null after an error.
std::unique_ptr<PackedOperand> Emitter::operandOf(Operation *op, Value blocks,
                                                  const DotPacking &packing, int64_t row) {
  auto load = blocks.getDefiningOp<tile::LoadOp>();
  const EmittedView &w = views_.find(load.getView())->second;
  SmallVector<Value> at = scalarsOf(load.getOffsets());
  return std::make_unique<PackedOperand>(b_, op->getLoc(), facts_, packing,
                                         packedBlocks(w, *packing.format, at, row),
                                         static_cast<uint32_t>(row % kInterleavedRows));
}

// How the blocks that become panels are packed, or an error.
FailureOr<DotPacking> Emitter::panelPacking(Operation *op, Value blocks) {
  auto load = blocks.getDefiningOp<tile::LoadOp>();
  if (!load)
    return op->emitOpError() << "needs blocks loaded from a view";
  tile::ViewType type = load.getView().getType();
  Result<DotPacking> packing = dotPacking(*tile::blockFormatOf(type.getElementType()));
  if (!packing || type.getInterleave() != kInterleavedRows)
    return op->emitOpError() << "expands " << type << ", expected interleave = " << kInterleavedRows
                             << " of a format that has a packing";
  return *packing;
}

LogicalResult Emitter::emitExpand(sched::ExpandOp op) {
  FailureOr<DotPacking> packing = panelPacking(op, op.getBlocks());
  if (failed(packing))
    return failure();
  if (op.getMins() && packing->zero != 0)
    return op.emitOpError() << "expands " << op.getBlocks().getType()
                            << ", which has minima: expected numbers of at least 0";
  int32_t zero = panelZeroOf(facts_, static_cast<bool>(op.getMins()));
  auto wordType = cast<RankedTensorType>(op.getWords().getType());
  auto scaleType = cast<RankedTensorType>(op.getScales().getType());
  const bool integers = scaleType.getElementType().isInteger(32);
  int64_t perRow = piecesAlong(wordType.getDimSize(1)), count = scaleType.getDimSize(0);
  uint32_t groups = static_cast<uint32_t>(count) * (op.getPairs() ? 2 : 1);
  Pieces words = piecesOf(wordType, perRow), scales = piecesOf(scaleType, perRow), mins;
  if (op.getMins())
    mins = piecesOf(cast<RankedTensorType>(op.getMins().getType()), perRow);
  auto first = static_cast<uint32_t>(op.getPart() * kActivationLength);
  auto word = VectorType::get({facts_.lanes}, b_.getI32Type());
  for (int64_t p = 0; p < perRow; ++p) {
    std::unique_ptr<PackedOperand> operand =
        operandOf(op, op.getBlocks(), *packing, p * facts_.lanes);
    for (int64_t i = 0; i < wordType.getDimSize(0); ++i) {
      Value codes = operand->codes(first / 4 + static_cast<uint32_t>(i), zero);
      words.values[i * perRow + p] = LLVM::BitcastOp::create(b_, loc_, word, codes);
    }
    for (uint32_t g = 0; g < groups; ++g) {
      uint32_t element = first + g * packing->groupLength;
      if (op.getMins())
        mins.values[g * perRow + p] = operand->min(element);
      if (op.getPairs() && g % 2)
        continue;
      Value &scale = scales.values[g / (op.getPairs() ? 2 : 1) * perRow + p];
      scale = integers ? operand->scaleNumbers(element, op.getPairs()) : operand->scale(element);
    }
  }
  tiles_[op.getWords()] = words;
  tiles_[op.getScales()] = scales;
  if (op.getMins())
    tiles_[op.getMins()] = mins;
  return success();
}

LogicalResult Emitter::emitTotalScales(sched::TotalScalesOp op) {
  FailureOr<DotPacking> packing = panelPacking(op, op.getBlocks());
  if (failed(packing))
    return failure();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t perRow = piecesAlong(type.getDimSize(1));
  Pieces scales = piecesOf(type, perRow);
  for (int64_t p = 0; p < perRow; ++p)
    std::tie(scales.values[p], scales.values[perRow + p]) =
        operandOf(op, op.getBlocks(), *packing, p * facts_.lanes)->totalScale();
  tiles_[op.getResult()] = scales;
  return success();
}

// Vector `piece` of a panel's columns, read register by register.
PanelOperand::Rows Emitter::panelRows(Value tile, int64_t piece) {
  auto read = tile ? tile.getDefiningOp<sched::ReadOp>() : sched::ReadOp();
  if (!read)
    return {};
  return [this, read, piece](uint32_t row) {
    return readPiece(read, {row, piece * facts_.lanes}, facts_.lanes);
  };
}

// The activations that an operation on panels loads, or an error.
FailureOr<tile::LoadOp> Emitter::panelActivations(Operation *op, Value a, ValueRange panels) {
  auto load = a.getDefiningOp<tile::LoadOp>();
  if (!load)
    return op->emitOpError() << "needs activations loaded from a view";
  for (Value part : panels)
    if (!part.getDefiningOp<sched::ReadOp>())
      return op->emitOpError() << "needs panels read from scratch";
  return load;
}

static const ActivationFormat &activationOf(tile::LoadOp load) {
  return *tile::activationFormatOf(load.getView().getType().getElementType());
}

LogicalResult Emitter::emitPanelDot(sched::PanelDotOp op) {
  SmallVector<Value> panels{op.getWords(), op.getScales()};
  if (op.getMins())
    panels.push_back(op.getMins());
  FailureOr<tile::LoadOp> load = panelActivations(op, op.getA(), panels);
  if (failed(load))
    return failure();
  const ActivationFormat &activation = activationOf(*load);
  auto accType = cast<RankedTensorType>(op.getAcc().getType());
  GroupScales how{{}, op.getPairs()};
  if (op.getShift())
    how.integers = IntegerScales{static_cast<uint32_t>(*op.getShift())};
  auto scaleRows =
      static_cast<uint32_t>(cast<RankedTensorType>(op.getScales().getType()).getDimSize(0));
  const uint32_t length = kActivationLength / scaleRows / how.together();
  if (length % activation.partLength)
    return op.emitOpError() << "multiplies by activations of " << (*load).getType()
                            << ", expected sums of " << length << " elements";
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, canonicalLane(accType.getShape()));
  SmallVector<Value> rowsA = activationRows(*load, activation);
  SmallVector<std::unique_ptr<DotOperand>> vectors;
  Sums sums;
  int32_t zero = panelZeroOf(facts_, op.getPositive());
  for (int64_t p = 0, perRow = piecesAlong(accType.getDimSize(1)); p < perRow; ++p) {
    vectors.push_back(
        std::make_unique<PanelOperand>(b_, loc_, zero, length,
                                       PanelOperand::Parts{panelRows(op.getWords(), p),
                                                           panelRows(op.getScales(), p),
                                                           panelRows(op.getMins(), p),
                                                           {}}));
    sums.push_back(sumsOf(acc, p, perRow));
  }
  SmallVector<DotOperand *> operands =
      llvm::map_to_vector(vectors, [](auto &vector) { return vector.get(); });
  GroupDots dots(b_, loc_, facts_, operands, activation, rowsA);
  for (uint32_t element = 0; element < kActivationLength; element += how.together() * length)
    how.integers ? dots.addTotals(element, how, sums) : dots.add(element, sums);
  tiles_[op.getResult()] = acc;
  return success();
}

LogicalResult Emitter::emitScaleTotals(sched::ScaleTotalsOp op) {
  SmallVector<Value> panels{op.getScales()};
  if (op.getMins())
    panels.push_back(op.getMins());
  FailureOr<tile::LoadOp> load = panelActivations(op, op.getA(), panels);
  if (failed(load))
    return failure();
  const ActivationFormat &activation = activationOf(*load);
  auto type = cast<RankedTensorType>(op.getTotals().getType());
  auto elements = static_cast<uint32_t>(cast<RankedTensorType>(op.getA().getType()).getDimSize(1));
  uint32_t length = elements;
  if (op.getMins())
    length /= static_cast<uint32_t>(cast<RankedTensorType>(op.getMins().getType()).getDimSize(0));
  Pieces totals = relayout(tiles_.find(op.getTotals())->second, canonicalLane(type.getShape()));
  Pieces result = totals;
  SmallVector<Value> rowsA = activationRows(*load, activation);
  for (int64_t p = 0, perRow = piecesAlong(type.getDimSize(1)); p < perRow; ++p) {
    PanelOperand operand(b_, loc_, 0, length,
                         {{}, {}, panelRows(op.getMins(), p), panelRows(op.getScales(), p)});
    DotOperand *vector = &operand;
    GroupDots dots(b_, loc_, facts_, vector, activation, rowsA);
    SmallVector<Value> column;
    for (Value *total : sumsOf(totals, p, perRow))
      column.push_back(*total);
    column = dots.scaledTotals(operand, elements, column);
    for (auto [into, sum] : llvm::zip_equal(sumsOf(result, p, perRow), column))
      *into = sum;
  }
  tiles_[op.getResult()] = result;
  return success();
}

LogicalResult Emitter::emitAddScaled(sched::AddScaledOp op) {
  auto load = op.getA().getDefiningOp<tile::LoadOp>();
  if (!load)
    return op.emitOpError() << "needs activations loaded from a view";
  const ActivationFormat &activation = activationOf(load);
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
