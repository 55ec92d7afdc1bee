// Blocking, panels of blocks: codes, scales and minima of some columns made ready once for all rows
// of a tile, side by side in scratch in the order in which they are read.
#include "target/cpu/blocker.h"

#include "numeric/dot_packing.h"

#include <numeric>

using namespace mlir;

namespace sinter::target::cpu {

static constexpr int64_t kWordBytes = 4;

int64_t blockLengthOf(Value weights) {
  const BlockFormat *format = tile::blockFormatOf(getElementTypeOrSelf(weights.getType()));
  return format ? format->blockLength : kActivationLength;
}

int64_t scaleLengthOf(tile::DotOp dot) {
  return tile::activationFormatOf(getElementTypeOrSelf(dot.getA().getType()))->scaleLength;
}

int64_t wholeLengthOf(tile::DotOp dot) {
  return std::lcm(blockLengthOf(dot.getB()), scaleLengthOf(dot));
}

int64_t rowsOfBlocks(const CpuFacts &facts, int64_t vectors, int64_t tileRows) {
  // Vectors are taken one after another: a row has a float sum for each, an integer one for all.
  return std::clamp<int64_t>(facts.accumulatorBudget() / (vectors + 1), 1, tileRows);
}

int64_t rowsOfPanels(const CpuFacts &facts, int64_t vectors, int64_t tileRows) {
  // Vectors are taken together, so that activations are read once for all. Six rows by two vectors
  // leave too few registers to read ahead (q8_0 on a Zen 5: 0.67 of the byte dots' rate, five rows
  // 0.70).
  int64_t rows = facts.accumulatorBudget() / (2 * vectors);
  bool crowded = vectors > 1 && rows > 4;
  return std::clamp<int64_t>(crowded ? rows - 1 : rows, 1, tileRows);
}

bool expands(const CpuFacts &facts, tile::DotOp dot) {
  auto acc = cast<RankedTensorType>(dot.getAcc().getType());
  if (!isBlockTile(dot.getA()) || !dot.getTransposeB())
    return false;
  const BlockFormat *format = tile::blockFormatOf(getElementTypeOrSelf(dot.getB().getType()));
  return format && dotPacking(*format) &&
         acc.getDimSize(0) > rowsOfBlocks(facts, 1, acc.getDimSize(0));
}

int64_t vectorsOfGroup(const CpuFacts &facts) {
  return llvm::divideCeil(kInterleavedRows, facts.lanes);
}

int64_t vectorsOfPanels(const CpuFacts &facts, tile::DotOp dot) {
  // Without an instruction for bytes two need more registers than there are (q8_0: 0.89 as fast).
  int64_t vectors = facts.instructions.byteDot && expands(facts, dot) ? 2 : 1;
  return std::max(vectors, vectorsOfGroup(facts));
}

// Groups beyond the weights' own length are zero and add nothing: their exact end replaces a bound
// in the loop.
Value Blocker::groupsEnd(tile::DotOp dot, int64_t depth) {
  auto load = dot.getB().getDefiningOp<tile::LoadOp>();
  if (!load)
    return index(depth);
  Value dim = b_.createOrFold<tile::DimOp>(loc_, mapped(load.getView()), 1u);
  Value left = b_.createOrFold<arith::SubIOp>(loc_, dim, mapped(load.getOffsets()[1]));
  return b_.createOrFold<arith::MinSIOp>(loc_, left, index(depth));
}

LogicalResult Blocker::expandPart(Value blocks, int64_t part, const Columns &columns, Value k) {
  const BlockFormat &format = *tile::blockFormatOf(getElementTypeOrSelf(blocks.getType()));
  int64_t group = dotGroupLength(format), first = part * kActivationLength;
  auto words =
      RankedTensorType::get({kActivationLength / kWordBytes, columns.count}, b_.getI32Type());
  auto factors = RankedTensorType::get({kActivationLength / group, columns.count}, b_.getF32Type());
  auto op = sched::ExpandOp::create(b_, loc_, words, factors, columns.mins ? Type(factors) : Type(),
                                    blocks, b_.getI64IntegerAttr(part));
  Value at = add(k, index(first)), zero = index(0);
  write(op.getWords(), columns.words, {divided(at, kWordBytes), zero});
  write(op.getScales(), columns.scales, {divided(at, group), zero});
  if (columns.mins)
    write(op.getMins(), columns.mins, {divided(at, group), zero});
  return success();
}

LogicalResult Blocker::expandColumns(tile::DotOp dot, Columns &columns) {
  const BlockFormat &format = *tile::blockFormatOf(getElementTypeOrSelf(dot.getB().getType()));
  int64_t depth = cast<RankedTensorType>(dot.getB().getType()).getDimSize(1);
  int64_t length = format.blockLength;
  auto buffer = [&](int64_t elements, Type type) {
    return allocate(RankedTensorType::get({depth / elements, columns.count}, type), {});
  };
  columns.words = buffer(kWordBytes, b_.getI32Type());
  columns.scales = buffer(dotGroupLength(format), b_.getF32Type());
  if (format.min.present())
    columns.mins = buffer(dotGroupLength(format), b_.getF32Type());
  return loopOver(index(0), groupsEnd(dot, depth), length, [&](Value k) -> LogicalResult {
    FailureOr<Value> blocks = stream(dot.getB(), {{columns.from, k}, {columns.count, length}});
    if (failed(blocks))
      return failure();
    for (int64_t part = 0; part < length / kActivationLength; ++part)
      if (failed(expandPart(*blocks, part, columns, k)))
        return failure();
    return success();
  });
}

// One block of activations a row.
FailureOr<Value> Blocker::panelBlock(tile::DotOp dot, Value sums, Value row, int64_t rows,
                                     const Columns &columns, Value k) {
  FailureOr<Value> a = stream(dot.getA(), {{row, k}, {rows, kActivationLength}});
  if (failed(a))
    return failure();
  auto part = [&](Value buffer, int64_t elements) -> Value {
    int64_t count = kActivationLength / elements;
    return read(buffer, {{divided(k, elements), index(0)}, {count, columns.count}});
  };
  const BlockFormat &format = *tile::blockFormatOf(getElementTypeOrSelf(dot.getB().getType()));
  int64_t group = dotGroupLength(format);
  return sched::PanelDotOp::create(b_, loc_, sums.getType(), *a, part(columns.words, kWordBytes),
                                   part(columns.scales, group), sums,
                                   columns.mins ? part(columns.mins, group) : Value())
      .getResult();
}

// The blocks that share a scale, which their sums are multiplied by at last.
FailureOr<Value> Blocker::panelStep(tile::DotOp dot, Value acc, Value row, int64_t rows,
                                    const Columns &columns, Value k) {
  int64_t length = scaleLengthOf(dot);
  FailureOr<Value> sums = Value(arith::ConstantOp::create(
      b_, loc_, DenseElementsAttr::get(cast<RankedTensorType>(acc.getType()), -0.0f)));
  if (length == kActivationLength) {
    sums = panelBlock(dot, *sums, row, rows, columns, k);
  } else {
    auto loop = scf::ForOp::create(b_, loc_, k, add(k, index(length)), index(kActivationLength),
                                   ValueRange{*sums});
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    sums = panelBlock(dot, loop.getRegionIterArg(0), row, rows, columns, loop.getInductionVar());
    if (succeeded(sums)) {
      scf::YieldOp::create(b_, loc_, ValueRange{*sums});
      sums = loop.getResult(0);
    }
  }
  FailureOr<Value> a = stream(dot.getA(), {{row, k}, {rows, kActivationLength}});
  if (failed(a) || failed(sums))
    return failure();
  return sched::AddScaledOp::create(b_, loc_, acc.getType(), *a, *sums, acc).getResult();
}

} // namespace sinter::target::cpu
