// Blocking, panels of blocks: codes, scales and minima of some columns made ready once for all rows
// of a tile, side by side in scratch in the order in which they are read.
#include "targets/cpu/blocking/blocker.h"
#include "targets/cpu/emission/dot_operand.h"

#include "numeric/formats/dot_packing.h"

#include <numeric>

using namespace mlir;

namespace sinter::targets::cpu {

static constexpr int64_t kWordBytes = 4;
// How far along K short blocks are asked for once more while a panel is expanded; with the row
// blocks' prefetches into the first cache gate and up of SmolLM2's Q8_0 take 0.987 of their time on
// a Zen 4 (16 pairs, the same build against itself 0.996).
static constexpr int64_t kExpandPrefetch = 128;

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
  // Pairs of groups have another, which few rows of 8 spill (q6_k: 1.01 of the time, q3_k 1.00).
  return std::clamp<int64_t>(facts.accumulatorBudget() / (vectors + 1), 1, tileRows);
}

int64_t rowsOfPanels(const CpuFacts &facts, int64_t vectors, bool minima, int64_t tileRows) {
  // Vectors are taken together, so that activations are read once for all. Six rows by two vectors
  // leave too few registers to read ahead (q8_0 on a Zen 5: 0.67 of the byte dots' rate, five rows
  // 0.70); of 16 registers three rows by two vectors leave too few for minima (by AVX2 on a Zen 4
  // two rows take 0.93 of their time with q4_k, 0.86 with q4_1; 1.03 with q6_k, which has none).
  int64_t rows = facts.accumulatorBudget() / (2 * vectors);
  bool pairs = facts.instructions.pairDot;
  bool crowded = vectors > 1 && rows > (minima && pairs ? facts.registers / 8 : 4);
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
  int64_t vectors =
      (facts.instructions.byteDot || facts.instructions.pairDot) && expands(facts, dot) ? 2 : 1;
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

namespace {

// How a matmul's weights become panels.
struct PanelParts {
  const BlockFormat &format;
  const ActivationFormat &activation;
  GroupScales scales;
  int64_t group; // elements
  NumberRange numbers;

  PanelParts(const CpuFacts &facts, tile::DotOp dot)
      : format(*tile::blockFormatOf(getElementTypeOrSelf(dot.getB().getType()))),
        activation(*tile::activationFormatOf(getElementTypeOrSelf(dot.getA().getType()))),
        scales(groupScalesOf(format, activation, facts)), group(dotGroupLength(format)),
        numbers(numbersOf(*dotPacking(format))) {}

  // Elements of a row of scales.
  int64_t scaleElements() const { return group * scales.together(); }
};

} // namespace

LogicalResult Blocker::expandPart(tile::DotOp dot, Value blocks, int64_t part,
                                  const Columns &columns, Value k) {
  const PanelParts parts(facts_, dot);
  auto panel = [&](int64_t elements, Type type) {
    return RankedTensorType::get({kActivationLength / elements, columns.count}, type);
  };
  Type words = b_.getI32Type(), floats = b_.getF32Type();
  auto op =
      sched::ExpandOp::create(b_, loc_, panel(kWordBytes, words),
                              panel(parts.scaleElements(), parts.scales.integers ? words : floats),
                              columns.mins ? Type(panel(parts.group, floats)) : Type(), blocks,
                              static_cast<uint64_t>(part), parts.scales.pairs);
  Value at = add(k, index(part * kActivationLength)), zero = index(0);
  write(op.getWords(), columns.words, {divided(at, kWordBytes), zero});
  write(op.getScales(), columns.scales, {divided(at, parts.scaleElements()), zero});
  if (columns.mins)
    write(op.getMins(), columns.mins, {divided(at, parts.group), zero});
  return success();
}

void Blocker::expandTotals(tile::DotOp dot, Value blocks, const Columns &columns, Value k) {
  auto type = RankedTensorType::get({2, columns.count}, b_.getF32Type());
  Value scales = sched::TotalScalesOp::create(b_, loc_, type, blocks);
  write(scales, columns.totals, {divided(k, blockLengthOf(dot.getB()) / 2), index(0)});
}

LogicalResult Blocker::expandColumns(tile::DotOp dot, Columns &columns) {
  const PanelParts parts(facts_, dot);
  int64_t depth = cast<RankedTensorType>(dot.getB().getType()).getDimSize(1);
  int64_t length = parts.format.blockLength;
  auto buffer = [&](int64_t elements, Type type) {
    return allocate(RankedTensorType::get({depth / elements, columns.count}, type), {});
  };
  columns.words = buffer(kWordBytes, b_.getI32Type());
  columns.scales = buffer(parts.scaleElements(),
                          parts.scales.integers ? Type(b_.getI32Type()) : b_.getF32Type());
  if (parts.format.min.present())
    columns.mins = buffer(parts.group, b_.getF32Type());
  if (parts.scales.integers)
    columns.totals = buffer(length / 2, b_.getF32Type());
  return loopOver(index(0), groupsEnd(dot, depth), length, [&](Value k) -> LogicalResult {
    if (length < kExpandPrefetch)
      prefetchBlocks(dot, columns.from, columns.count, add(k, index(kExpandPrefetch)), length);
    FailureOr<Value> blocks = stream(dot.getB(), {{columns.from, k}, {columns.count, length}});
    if (failed(blocks))
      return failure();
    for (int64_t part = 0; part < length / kActivationLength; ++part)
      if (failed(expandPart(dot, *blocks, part, columns, k)))
        return failure();
    if (columns.totals)
      expandTotals(dot, *blocks, columns, k);
    return success();
  });
}

// The rows of a panel that are for these elements.
Value Blocker::panelRows(Value buffer, const Columns &columns, Value k, int64_t elements,
                         int64_t length) {
  return read(buffer, {{divided(k, elements), index(0)}, {length / elements, columns.count}});
}

// One block of activations a row.
FailureOr<Value> Blocker::panelPart(tile::DotOp dot, Value accumulators, Value row, int64_t rows,
                                    const Columns &columns, Value k) {
  const PanelParts parts(facts_, dot);
  FailureOr<Value> a = stream(dot.getA(), {{row, k}, {rows, kActivationLength}});
  if (failed(a))
    return failure();
  auto rowsOf = [&](Value buffer, int64_t elements) {
    return panelRows(buffer, columns, k, elements, kActivationLength);
  };
  const std::optional<IntegerScales> &integers = parts.scales.integers;
  bool minima = columns.mins && !integers;
  auto number = [&](int64_t value) { return static_cast<uint64_t>(value); };
  return sched::PanelDotOp::create(
             b_, loc_, accumulators.getType(), *a, rowsOf(columns.words, kWordBytes),
             rowsOf(columns.scales, parts.scaleElements()), accumulators,
             minima ? rowsOf(columns.mins, parts.group) : Value(), parts.scales.pairs,
             integers ? b_.getI64IntegerAttr(integers->shift) : IntegerAttr(),
             number(parts.numbers.least), number(parts.numbers.most))
      .getResult();
}

// The accumulators of the blocks that share a scale, by integer scales in i32.
FailureOr<Value> Blocker::panelAccumulators(tile::DotOp dot, RankedTensorType type, Value row,
                                            int64_t rows, const Columns &columns, Value k) {
  const PanelParts parts(facts_, dot);
  int64_t length = scaleLengthOf(dot);
  auto zeros = parts.scales.integers
                   ? DenseElementsAttr::get(type.clone(b_.getI32Type()), int32_t(0))
                   : DenseElementsAttr::get(type, -0.0f);
  Value accumulators = arith::ConstantOp::create(b_, loc_, zeros);
  auto loop = scf::ForOp::create(b_, loc_, k, add(k, index(length)), index(kActivationLength),
                                 ValueRange{accumulators});
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToEnd(loop.getBody());
  FailureOr<Value> part =
      panelPart(dot, loop.getRegionIterArg(0), row, rows, columns, loop.getInductionVar());
  if (failed(part))
    return failure();
  scf::YieldOp::create(b_, loc_, ValueRange{*part});
  return loop.getResult(0);
}

FailureOr<Value> Blocker::scaledTotals(tile::DotOp dot, Value totals, Value row, int64_t rows,
                                       const Columns &columns, Value k) {
  const PanelParts parts(facts_, dot);
  int64_t length = scaleLengthOf(dot);
  FailureOr<Value> a = stream(dot.getA(), {{row, k}, {rows, length}});
  if (failed(a))
    return failure();
  Value scales = panelRows(columns.totals, columns, k, length / 2, length);
  Value mins = columns.mins ? panelRows(columns.mins, columns, k, parts.group, length) : Value();
  auto type = cast<RankedTensorType>(totals.getType()).clone(b_.getF32Type());
  return sched::ScaleTotalsOp::create(b_, loc_, type, *a, totals, scales, mins).getResult();
}

// The blocks that share a scale, which their accumulators are multiplied by at last.
FailureOr<Value> Blocker::panelStep(tile::DotOp dot, Value acc, Value row, int64_t rows,
                                    const Columns &columns, Value k) {
  FailureOr<Value> accumulators =
      panelAccumulators(dot, cast<RankedTensorType>(acc.getType()), row, rows, columns, k);
  if (succeeded(accumulators) && columns.totals)
    accumulators = scaledTotals(dot, *accumulators, row, rows, columns, k);
  FailureOr<Value> a = stream(dot.getA(), {{row, k}, {rows, kActivationLength}});
  if (failed(a) || failed(accumulators))
    return failure();
  return sched::AddScaledOp::create(b_, loc_, acc.getType(), *a, *accumulators, acc).getResult();
}

} // namespace sinter::targets::cpu
