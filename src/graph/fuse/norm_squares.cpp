// matmul -> rows -> norm -> matmul, in decode: the first matmul stores a sum of squares of each
// group of columns beside its rows, and the second one's programs scale the rows as they read them.
// Saves the norm's launch; programs read f32 rows instead of 16-bit ones, and the sums.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

namespace {
struct NormOfMatmul {
  LaunchOp maker, norm, quantize;
};
} // namespace

// A matmul of decode whose map makes these f32 rows, in tiles of whole groups of columns.
static LaunchOp makerOfRows(Value rows, const FuseOptions &options) {
  LaunchOp maker = makerOf<DotGeneralOp>(rows);
  if (!maker || !isDecode(maker) || maker.getResult(0) != rows || maker.getHeadColumns() ||
      !options.sharesDepth(maker) || columnsOf(rows) % kSquareColumns != 0)
    return {};
  for (Operation *op : inSlot(maker, kEpilogue))
    if (isa<SliceOp>(op))
      return {};
  Operation *last = squaresOf(maker) ? squaresOf(maker).getValue().getDefiningOp()
                                     : maker.getBody().front().getTerminator()->getPrevNode();
  return isa<MapOp>(last) && last != columnMapOf(maker) ? maker : LaunchOp();
}

static std::optional<NormOfMatmul> match(LaunchOp reader, const FuseOptions &options) {
  NormOfMatmul found;
  auto matmul = mainOf<DotGeneralOp>(reader);
  Value rows = outerValue(matmul.getA());
  if (!isDecode(reader) || !inSlot(reader, kPrologue).empty() || !rows.hasOneUse())
    return std::nullopt;
  found.quantize = makerOf<QuantizeOp>(rows);
  if (!found.quantize || !isAlone(found.quantize))
    return std::nullopt;
  Value normed = found.quantize.getOperand(0);
  found.norm = makerOf<NormOp>(normed);
  if (!found.norm || !isAlone(found.norm) || !normed.hasOneUse() ||
      !mainOf<NormOp>(found.norm).isRmsOfRows() || !options.sharesDepth(reader) ||
      options.normRows(reader) <= 0)
    return std::nullopt;
  found.maker = makerOfRows(outerValue(mainOf<NormOp>(found.norm).getValue()), options);
  return found.maker ? std::optional(found) : std::nullopt;
}

// The sums of squares of the matmul's rows, which it stores from now on.
static Value addSquares(LaunchOp maker) {
  if (squaresOf(maker))
    return maker.getResult(1);
  OpBuilder b(maker->getContext());
  b.setInsertionPointAfter(maker);
  auto rows = cast<RankedTensorType>(maker.getResult(0).getType());
  SmallVector<int64_t> shape(rows.getShape());
  shape.back() /= kSquareColumns;
  auto sums = SquareSumsOp::create(
      b, maker.getLoc(), RankedTensorType::get(shape, rows.getElementType(), rows.getEncoding()),
      maker.getResult(0));
  return merge({{maker, {}}, {sums, kStore}}, maker).getResult(1);
}

static void addOperand(LaunchOp norm, Value squares) {
  const unsigned end = norm->getNumOperands();
  norm->insertOperands(end, {squares});
  Value inner = norm.getBody().front().addArgument(squares.getType(), norm.getLoc());
  mainOf<NormOp>(norm).getSquaresMutable().assign(inner);
}

void fuseNormSquares(ModuleOp module, const FuseOptions &options) {
  if (!options.sharesDepth || !options.normRows)
    return;
  for (LaunchOp reader : launchesOf<DotGeneralOp>(module)) {
    std::optional<NormOfMatmul> found = match(reader, options);
    if (!found)
      continue;
    addOperand(found->norm, addSquares(found->maker));
    merge({{found->norm, kPrologue}, {found->quantize, kPrologue}, {reader, {}}}, reader);
  }
}

} // namespace sinter::graph
