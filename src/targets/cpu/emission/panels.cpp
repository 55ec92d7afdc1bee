// Emission, panels: blocks expanded once for many rows, and matmuls with what they become.
#include "targets/cpu/emission/emitter.h"
#include "targets/cpu/emission/group_dots.h"
#include "targets/cpu/emission/kept_order.h"

using namespace mlir;

namespace sinter::targets::cpu {

// Registers of an expanded part, filled column by column.
static Pieces piecesOf(RankedTensorType type, int64_t perRow) {
  return {SmallVector<int64_t>(type.getShape()), 1, false,
          SmallVector<Value>(type.getDimSize(0) * perRow)};
}

// One vector of the packed blocks that an operation makes panels of.
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
  if (failed(beginsGroup(op, load)))
    return failure();
  return *packing;
}

LogicalResult Emitter::emitExpand(sched::ExpandOp op) {
  FailureOr<DotPacking> packing = panelPacking(op, op.getBlocks());
  if (failed(packing))
    return failure();
  const NumberRange numbers = numbersOf(*packing);
  if (op.getMins() && numbers.least < 0)
    return op.emitOpError() << "expands " << op.getBlocks().getType()
                            << ", which has minima: expected numbers of at least 0";
  int32_t zero = panelMethodOf(facts_, numbers).zero;
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
      const uint32_t at = g / (op.getPairs() ? 2 : 1);
      scales.values[at * perRow + p] =
          integers ? operand->scaleNumbers(element, op.getPairs()) : operand->scale(element);
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

// Marks the function that is being emitted.
void Emitter::keepOrder() {
  auto function = b_.getInsertionBlock()->getParent()->getParentOfType<LLVM::LLVMFuncOp>();
  function.setPassthroughAttr(b_.getStrArrayAttr({kKeepOrder}));
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
FailureOr<tile::LoadOp> Emitter::panelActivations(Operation *op, Value a, ArrayRef<Value> panels) {
  auto load = a.getDefiningOp<tile::LoadOp>();
  if (!load)
    return op->emitOpError() << "needs activations loaded from a view";
  for (Value part : panels)
    if (part && !part.getDefiningOp<sched::ReadOp>())
      return op->emitOpError() << "needs panels read from scratch";
  return load;
}

static const ActivationFormat &activationOf(tile::LoadOp load) {
  return *tile::activationFormatOf(load.getView().getType().getElementType());
}

LogicalResult Emitter::emitPanelDot(sched::PanelDotOp op) {
  FailureOr<tile::LoadOp> load =
      panelActivations(op, op.getA(), {op.getWords(), op.getScales(), op.getMins()});
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
  if (how.pairs && !facts_.instructions.wordDot)
    return op.emitOpError() << "multiplies pairs of words, which " << facts_.targetName()
                            << " has no instruction for";
  if (length % activation.partLength)
    return op.emitOpError() << "multiplies by activations of " << (*load).getType()
                            << ", expected accumulators of " << length << " elements";
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, canonicalLane(accType.getShape()));
  SmallVector<Value> rowsA = activationRows(*load, activation);
  SmallVector<std::unique_ptr<DotOperand>> vectors;
  Accumulators accumulators;
  const DotMethod method = panelMethodOf(
      facts_, {static_cast<int32_t>(op.getLeast()), static_cast<int32_t>(op.getMost())});
  if (method.pairs && !how.integers) // else 0.95 as fast (q6_k)
    keepOrder();
  for (int64_t p = 0, perRow = piecesAlong(accType.getDimSize(1)); p < perRow; ++p) {
    vectors.push_back(
        std::make_unique<PanelOperand>(b_, loc_, method, length,
                                       PanelOperand::Parts{panelRows(op.getWords(), p),
                                                           panelRows(op.getScales(), p),
                                                           panelRows(op.getMins(), p),
                                                           {}}));
    accumulators.push_back(accumulatorsOf(acc, p, perRow));
  }
  SmallVector<DotOperand *> operands =
      llvm::map_to_vector(vectors, [](auto &vector) { return vector.get(); });
  GroupDots dots(b_, loc_, facts_, operands, activation, rowsA);
  for (uint32_t element = 0; element < kActivationLength; element += how.together() * length)
    how.integers ? dots.addTotals(element, how.together(), how, accumulators)
                 : dots.add(element, 1, accumulators);
  tiles_[op.getResult()] = acc;
  return success();
}

LogicalResult Emitter::emitScaleTotals(sched::ScaleTotalsOp op) {
  FailureOr<tile::LoadOp> load = panelActivations(op, op.getA(), {op.getScales(), op.getMins()});
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
    PanelOperand operand(b_, loc_, {}, length,
                         {.words = {},
                          .scales = {},
                          .mins = panelRows(op.getMins(), p),
                          .totals = panelRows(op.getScales(), p)});
    DotOperand *vector = &operand;
    GroupDots dots(b_, loc_, facts_, vector, activation, rowsA);
    SmallVector<Value> column;
    for (Value *total : accumulatorsOf(totals, p, perRow))
      column.push_back(*total);
    column = dots.scaledTotals(operand, elements, column);
    for (auto [into, sum] : llvm::zip_equal(accumulatorsOf(result, p, perRow), column))
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
         accumulators = relayout(tiles_.find(op.getAccumulators())->second, lanes);
  SmallVector<Value> rowsA = activationRows(load, activation);
  GroupDots dots(b_, loc_, facts_, {}, activation, rowsA);
  int64_t perRow = piecesAlong(type.getDimSize(1));
  for (int64_t p = 0; p < perRow; ++p) {
    SmallVector<Value> column;
    for (Value *sum : accumulatorsOf(accumulators, p, perRow))
      column.push_back(*sum);
    dots.addScaled(0, column, accumulatorsOf(acc, p, perRow));
  }
  tiles_[op.getResult()] = acc;
  return success();
}

} // namespace sinter::targets::cpu
