// Emission, matmuls of packed blocks as they lie in memory.
#include "targets/cpu/emission/emitter.h"
#include "targets/cpu/emission/group_dots.h"

#include <numeric>

using namespace mlir;

namespace sinter::targets::cpu {

static std::string lowerName(const ActivationFormat &format) {
  return StringRef(format.name).lower();
}

// Matmuls read whole groups of packed rows.
LogicalResult Emitter::beginsGroup(Operation *op, tile::LoadOp packed) {
  const EmittedView &view = views_.find(packed.getView())->second;
  if (liesInOneGroup(view, scalarOf(packed.getOffsets()[0]), kInterleavedRows))
    return success();
  return op->emitOpError() << "reads " << view.type << " from a row that is not known to begin a "
                           << "group, expected a multiple of interleave = " << kInterleavedRows
                           << ", such as (row / " << kInterleavedRows << ") * " << kInterleavedRows;
}

// What the operands of a matmul must be, or an error.
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
  Value first = add(add(at[0], w.origin[0]), index(row)), column = add(at[1], w.origin[1]);
  Value group = arith::DivUIOp::create(b_, loc_, first, index(kInterleavedRows));
  Value rowBlocks = arith::DivUIOp::create(b_, loc_, w.strides[0], index(format.blockLength));
  Value kBlock = arith::DivUIOp::create(b_, loc_, column, index(format.blockLength));
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

SmallVector<Value *> accumulatorsOf(Pieces &acc, int64_t piece, int64_t perRow) {
  SmallVector<Value *> accumulators;
  for (size_t at = piece; at < acc.values.size(); at += perRow)
    accumulators.push_back(&acc.values[at]);
  return accumulators;
}

static SmallVector<Value *> pointersTo(MutableArrayRef<Value> values) {
  return llvm::map_to_vector(values, [](Value &value) { return &value; });
}

// Of `steps` equal shares of the lines of some packed blocks, which lie `ahead` bytes further, one:
// into the second level of cache, since the first waits for few lines at once (two threads, beside
// the first level: one row of q6_k on a Zen 4 reads 34 GB/s instead of 20; tokens per second on a
// Xeon with AMX: iq4_xs of 1B 1.16 times as many, 8 sequences of q8_0 1.06).
void Emitter::emitPrefetchShare(Value blocks, const BlockFormat &format, int64_t ahead,
                                int64_t step, int64_t steps) {
  int64_t lines = llvm::divideCeil(int64_t(format.blockBytes) * kInterleavedRows, kLineBytes);
  for (int64_t line = step * lines / steps; line < (step + 1) * lines / steps; ++line)
    emitPrefetchAt(bytesAt(blocks, index(ahead + line * kLineBytes)), kSecondCache);
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
  Value first;                  // block
  int64_t inGroup;              // of packed rows, the first
  std::optional<int64_t> ahead; // see kPrefetchDistance

  uint32_t groups() const { return packing.format->blockLength / packing.groupLength; }
};

// Groups whose dots are held at once: those that scales join, or all that share bytes of codes,
// which each are read once then, one after the other (q6_k, one row on a Zen 4: from 12 to 29 GB/s
// a thread without prefetches), as far as half of the registers hold and a's scale reaches, where
// that comes after their sum.
uint32_t Emitter::groupsTogether(const BlockStream &stream, const GroupScales &how, size_t rows) {
  auto most = static_cast<uint32_t>(facts_.registers / 2 / static_cast<int64_t>(rows));
  const uint32_t reach = std::min(stream.packing.sharedLength, stream.activation.scaleLength);
  uint32_t groups = reach / stream.packing.groupLength;
  while (groups > std::max(most, how.together()))
    groups /= 2;
  return std::max(groups, how.together());
}

// Before each word of some groups' codes: the lines of the blocks ahead that are this word's share,
// and what keeps those that share bytes in the order in which they lie.
void Emitter::emitBetweenWords(const BlockStream &stream, Value blocks, uint32_t group,
                               uint32_t groups, uint32_t words) {
  if (!stream.ahead)
    return;
  const uint32_t elements = groups * stream.packing.groupLength, all = elements / 4;
  const uint32_t shares = elements > kActivationLength ? kActivationLength / 4 : 1;
  if (words % (all / shares))
    return;
  if (words)
    keepMemoryOrder();
  const uint32_t share = words * shares / all;
  const int64_t steps = int64_t(stream.groups()) * kInterleavedRows / facts_.lanes;
  const int64_t before = stream.inGroup / facts_.lanes * stream.groups() + group;
  for (int64_t g = before + share * groups / shares; g < before + (share + 1) * groups / shares;
       ++g)
    if (*stream.ahead)
      emitPrefetchShare(blocks, *stream.packing.format, *stream.ahead, g, steps);
}

// acc[row] += the matmuls of `depth` elements along K.
void Emitter::emitVectorDot(const BlockStream &stream, ArrayRef<Value> rowsA, int64_t depth,
                            ArrayRef<Value *> acc) {
  const BlockFormat &format = *stream.packing.format;
  const uint32_t length = stream.packing.groupLength, scaled = stream.activation.scaleLength;
  const GroupScales how = groupScalesOf(format, stream.activation, facts_);
  const uint32_t together = groupsTogether(stream, how, rowsA.size());
  auto floats = VectorType::get({facts_.lanes}, b_.getF32Type());
  Value zero =
      how.integers
          ? arith::ConstantOp::create(
                b_, loc_, DenseElementsAttr::get(floats.clone(b_.getI32Type()), int32_t(0)))
          : arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(floats, -0.0f));
  GroupDots scaling(b_, loc_, facts_, {}, stream.activation, rowsA);
  SmallVector<Value> accumulators;
  for (int64_t at = 0; at < depth; at += format.blockLength) {
    int64_t bytes = at / format.blockLength * format.blockBytes * kInterleavedRows;
    Value blocks = bytesAt(stream.first, index(bytes));
    PackedOperand operand(b_, loc_, facts_, stream.packing, blocks,
                          static_cast<uint32_t>(stream.inGroup));
    DotOperand *vector = &operand;
    SmallVector<Value> rows = blocksBeyond(rowsA, stream.activation, at);
    GroupDots dots(b_, loc_, facts_, vector, stream.activation, rows);
    for (uint32_t g = 0; g < stream.groups(); g += together) {
      const uint32_t element = g * length, all = static_cast<uint32_t>(at) + element;
      const uint32_t end = element + together * length;
      auto before = [&](uint32_t words) { emitBetweenWords(stream, blocks, g, together, words); };
      if (all % scaled == 0)
        accumulators.assign(rowsA.size(), zero);
      if (how.integers)
        dots.addTotals(element, together, how, Accumulators{pointersTo(accumulators)}, before);
      else
        dots.add(element, together, Accumulators{pointersTo(accumulators)}, before);
      if ((at + end) % scaled == 0) {
        if (how.integers)
          accumulators = dots.scaledTotals(operand, scaled, accumulators);
        scaling.addScaled(static_cast<uint32_t>(at) + end - scaled, accumulators, acc);
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
  if (failed(packing) || failed(beginsGroup(op, loadB)))
    return failure();
  const BlockFormat &format = *packing->format;
  const ActivationFormat &activation = *tile::activationFormatOf(a.type.getElementType());
  SmallVector<Value> atB = scalarsOf(loadB.getOffsets());
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, canonicalLane(accType.getShape()));
  SmallVector<Value> rowsA = activationRows(loadA, activation);
  auto ahead = dyn_cast_or_null<IntegerAttr>(op->getDiscardableAttr(kPrefetchDistance));
  const int64_t depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1);
  for (int64_t p = 0, perRow = piecesAlong(accType.getDimSize(1)); p < perRow; ++p) {
    int64_t row = p * facts_.lanes;
    BlockStream stream{*packing, activation, packedBlocks(w, format, atB, row),
                       row % kInterleavedRows,
                       ahead ? std::optional(ahead.getInt()) : std::nullopt};
    emitVectorDot(stream, rowsA, depth, accumulatorsOf(acc, p, perRow));
  }
  tiles_[op.getResult()] = acc;
  return success();
}

} // namespace sinter::targets::cpu
