// Bodies: a prologue, one operation, and its epilogue and store in one of a few forms.
#include "tile/mlir_pch.h"

#include "graph/fuse/matmul_heads.h"
#include "graph/fuse/row_order.h"
#include "graph/fuse/verify_body.h"

using namespace mlir;

namespace sinter::graph {

static Operation *lastOf(LaunchOp launch) {
  return launch.getBody().front().getTerminator()->getPrevNode();
}

static LogicalResult verifyPrologue(LaunchOp launch) {
  SmallVector<Operation *> ops = inSlot(launch, kPrologue);
  if (ops.empty() || !isa<DotGeneralOp>(mainOf(launch)))
    return success();
  auto norm = dyn_cast<NormOp>(ops.front());
  auto quantize = dyn_cast<QuantizeOp>(ops.back());
  Value made = ops.back()->getResult(0);
  const bool inOrder =
      ops.size() == (quantize ? 2 : 1) &&
      (!quantize || (norm && norm.getSquares() && quantize.getValue() == norm.getResult()));
  if (norm && inOrder && norm.isRmsOfRows() && norm.getResult().hasOneUse() && made.hasOneUse() &&
      mainOf<DotGeneralOp>(launch).getA() == made)
    return success();
  return ops.front()->emitOpError()
         << "is no prologue of its matmul, expected one root mean square norm of rows that the "
            "matmul alone reads as a, quantized where it is from sums of squares";
}

// All that is made but the last value stays in the launch.
static LogicalResult verifyReturned(LaunchOp launch) {
  Operation *end = launch.getBody().front().getTerminator(), *last = end->getPrevNode();
  if (llvm::equal(end->getOperands(), last->getResults()))
    return success();
  if (auto sums = dyn_cast<SquareSumsOp>(last);
      sums &&
      llvm::equal(end->getOperands(), SmallVector<Value>{sums.getValue(), sums.getResult()}))
    return success();
  return end->emitOpError() << "returns " << end->getNumOperands() << " values, expected "
                            << (last->getNumResults() == 1 ? "the one" : "those") << " that '"
                            << last->getName() << "' makes";
}

static LogicalResult verifyOrderIs(LaunchOp launch, ArrayRef<RowPart> expected) {
  ArrayAttr order = rowOrderAttr(launch.getContext(), expected);
  if (launch.getRowOrderAttr() == order)
    return success();
  InFlightDiagnostic error = launch.emitOpError() << "has another row order than its epilogue's, ";
  return order ? error << "expected " << order : error << "expected none";
}

// norm, map, attention: the result as it is, quantized, or of attention with joined heads.
static LogicalResult verifyStored(LaunchOp launch) {
  SmallVector<Operation *> ops = inSlot(launch, kStore);
  const bool joins = launch.getKernel() == "attention";
  const auto quantizes = llvm::count_if(ops, [](Operation *op) { return isa<QuantizeOp>(op); });
  const auto reshapes = static_cast<int64_t>(ops.size()) - quantizes;
  if (quantizes > 1 || reshapes > 1 || (quantizes && joins && !reshapes) ||
      (quantizes && !isa<QuantizeOp>(ops.back())))
    return launch.emitOpError() << "has a store of other operations than "
                                << (joins ? "a reshape that joins heads, then " : "")
                                << "one quantize";
  if (reshapes) {
    auto reshape = cast<ReshapeOp>(ops.front());
    if (!reshape.keepsRows() || reshape.getResult().getType().getRank() != 2)
      return reshape.emitOpError() << "joins no heads of rows, expected a matrix with as many rows";
  }
  return verifyReturned(launch);
}

// ---- matmul -> map ----

// Sums of squares follow the map whose f32 rows they are of, group by group.
static LogicalResult verifySquares(LaunchOp launch) {
  SquareSumsOp sums = squaresOf(launch);
  if (!sums)
    return success();
  auto map = sums.getValue().getDefiningOp<MapOp>();
  if (map && map->getParentOp() == launch && sums.getOperation() == lastOf(launch) &&
      columnsOf(sums.getValue()) == kSquareColumns * columnsOf(sums.getResult()))
    return success();
  return sums.emitOpError() << "is no store of its matmul, expected the last operation, of the "
                               "map's rows, in groups of "
                            << kSquareColumns << " columns";
}

static bool isMapForm(LaunchOp launch, ArrayRef<SliceOp> slices, MapOp map) {
  const size_t ops = inSlot(launch, kEpilogue).size() - (columnMapOf(launch) ? 1 : 0),
               stored = inSlot(launch, kStore).size();
  RankedTensorType type = map.getResult().getType();
  auto readsTile = [&](Value value) { return llvm::count(map.getValues(), value) == 1; };
  if (ops != slices.size() + 1 || stored > 1 || type.getRank() != 2 || type.isDynamicDim(1) ||
      !isRowwise(map) || !isa<QuantizeOp, MapOp, SquareSumsOp>(lastOf(launch)))
    return false;
  Value whole = columnsMadeBy(launch);
  if (slices.empty())
    return readsTile(whole) && whole.hasOneUse();
  return llvm::all_of(slices, [&](SliceOp slice) { return readsTile(slice.getResult()); });
}

static LogicalResult verifyMapEpilogue(LaunchOp launch, MapOp map) {
  SmallVector<SliceOp> slices = columnSlices(columnsMadeBy(launch));
  if (!isMapForm(launch, slices, map))
    return launch.emitOpError() << "has an epilogue that is no map of the matmul's columns, "
                                   "expected one map of the whole result or of slices that take "
                                   "each column once, in its shape, and at most one quantize";
  const auto parts = static_cast<int64_t>(slices.size());
  const int64_t width = columnsOf(map.getResult()), columns = launch.getColumns().value_or(1);
  const int64_t part = columns / std::max<int64_t>(parts, 1);
  if (failed(verifySquares(launch)))
    return failure();
  if (columns % std::max<int64_t>(parts, 1) || (parts > 1 && width % part))
    return launch.emitOpError() << "has " << columns << " columns, expected equal shares of "
                                << parts << " slices of " << width;
  Type element = getElementTypeOrSelf(lastOf(launch)->getResult(0).getType());
  if (const ActivationFormat *format = tile::activationFormatOf(element);
      format && part % format->scaleLength)
    return launch.emitOpError() << "has " << columns << " columns, expected whole scales of "
                                << format->scaleLength << " of each slice";
  SmallVector<RowPart> order;
  if (parts > 1)
    order = columnPartOrder(parts, width, part);
  if (auto grouped = mainOf<GroupedDotOp>(launch)) {
    order = expertOrder(grouped, parts, part);
    if (parts > 1 && order.empty())
      return launch.emitOpError() << "has " << parts << " slices of " << grouped.getParts()
                                  << " parts, expected as many or one part";
  }
  if (failed(verifyOrderIs(launch, order)))
    return failure();
  return verifyReturned(launch);
}

// A sum of experts' rows -> maps of rows, one after another.
static LogicalResult verifySums(LaunchOp launch) {
  Value sums = mainOf(launch)->getResult(0);
  for (Operation *op : inSlot(launch, kEpilogue)) {
    auto map = dyn_cast<MapOp>(op);
    if (!map || !isRowwise(map) || !sums.hasOneUse() || *sums.user_begin() != op)
      return launch.emitOpError() << "has an epilogue that is no map of the sums' rows, expected "
                                     "one that reads them once";
    sums = map.getResult();
  }
  return verifyReturned(launch);
}

// ---- matmul -> queries, keys and values ----

static bool isReturned(Value value) {
  return value.hasOneUse() && isa<ReturnOp>(*value.user_begin());
}

// The heads of a body that has no other operations.
static std::optional<MatmulHeads> headsOfBody(LaunchOp launch) {
  std::optional<MatmulHeads> heads = matmulHeadsOf(columnsMadeBy(launch));
  const size_t ops = inSlot(launch, kEpilogue).size() + inSlot(launch, kStore).size() -
                     (columnMapOf(launch) ? 1 : 0);
  if (!heads || heads->headDim() != launch.getHeadColumns() || !fitsTile(heads->headDim()) ||
      heads->norm() || !(heads->rope() || heads->append()) ||
      heads->operationCount() != static_cast<int64_t>(ops) ||
      !llvm::all_of(heads->parts, [](const HeadPart &part) { return isReturned(part.result); }))
    return std::nullopt;
  return heads;
}

static LogicalResult verifyHeads(LaunchOp launch) {
  std::optional<MatmulHeads> heads = headsOfBody(launch);
  if (!heads)
    return launch.emitOpError()
           << "has an epilogue that does not make heads of " << *launch.getHeadColumns()
           << " columns, expected queries, keys that are appended and rotate as queries do, and "
              "values that are appended, or some of these in that order";
  const int64_t headDim = heads->headDim(), columns = launch.getColumns().value_or(headDim);
  if (columns != headDim && !hasGroups(*heads, columns))
    return launch.emitOpError() << "has " << columns << " columns, expected a head of " << headDim
                                << " or an even part of its half";
  return verifyOrderIs(launch, headOrder(*heads, columns == headDim ? 0 : columns / 2));
}

static LogicalResult verifyMatmul(LaunchOp launch) {
  if (launch.getHeadColumns())
    return verifyHeads(launch);
  for (Operation *op : inSlot(launch, kEpilogue))
    if (auto map = dyn_cast<MapOp>(op); map && map != columnMapOf(launch))
      return verifyMapEpilogue(launch, map);
  if (lastOf(launch)->getResult(0) != columnsMadeBy(launch))
    return launch.emitOpError() << "has an epilogue or store without a map and without "
                                   "head_columns, expected one of them";
  SmallVector<RowPart> order;
  if (auto grouped = mainOf<GroupedDotOp>(launch);
      grouped && !inSlot(launch, kEpilogue).empty()) // otherwise lowering orders parts
    order = expertOrder(grouped, 0, 1);
  if (failed(verifyOrderIs(launch, order)))
    return failure();
  return verifyReturned(launch);
}

// ---- heads in memory ----

static LogicalResult verifyHeadRows(LaunchOp launch) {
  std::optional<MatmulHeads> heads = headRowsOf(launch);
  const auto ops = llvm::range_size(launch.getBody().front().without_terminator());
  if (heads && heads->operationCount() == static_cast<int64_t>(ops) &&
      llvm::all_of(heads->parts, [](const HeadPart &part) { return isReturned(part.result); }))
    return success();
  return launch.emitOpError()
         << "works otherwise on heads than its kernel, expected queries, keys and values, each "
            "once "
            "at most: RoPE by one table, norms with one epsilon before or after it, and appends at "
            "the same slots";
}

LogicalResult verifyBody(LaunchOp launch) {
  if (failed(verifyPrologue(launch)))
    return failure();
  if (isHeadRows(launch))
    return verifyHeadRows(launch);
  if (isa<CombineRowsOp>(mainOf(launch)))
    return verifySums(launch);
  return isa<DotGeneralOp, GroupedDotOp>(mainOf(launch)) ? verifyMatmul(launch)
                                                         : verifyStored(launch);
}

} // namespace sinter::graph
