// matmul -> map: elementwise work is done on the matmul's tiles; where the map reads several column
// slices of it, such as gate and up, rows of the weight are packed so that a tile has a part of
// each. Saves a launch, and writing and reading the matmul's result; repeats nothing.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"
#include "graph/fuse/row_order.h"
#include "numeric/formats/dot_packing.h"

using namespace mlir;

namespace sinter::graph {

// Columns of each part in a program whose tiles hold several: whole groups of the activation
// format, and of interleaved rows.
static constexpr int64_t kPartColumns = 32;
static_assert(kPartColumns % kActivationLength == 0 && kPartColumns % kInterleavedRows == 0);

namespace {
struct MapOfMatmul {
  LaunchOp map;
  SmallVector<SliceOp> slices; // none: it reads the whole result
};
} // namespace

static std::optional<MapOfMatmul> match(Value result) {
  if (LaunchOp map = onlyLaunch<MapOp>(result))
    return isRowwise(mainOf<MapOp>(map)) ? std::optional(MapOfMatmul{map, {}}) : std::nullopt;
  MapOfMatmul found{{}, columnSlices(result)};
  for (SliceOp slice : found.slices) {
    LaunchOp map = onlyLaunch<MapOp>(slice.getResult());
    if (!map || (found.map && found.map != map))
      return std::nullopt;
    found.map = map;
  }
  if (!found.map || !isRowwise(mainOf<MapOp>(found.map)) ||
      columnsOf(found.map.getResult(0)) % kPartColumns != 0)
    return std::nullopt;
  return found;
}

// Columns of the result that a program must hold together: those that share a scale.
static int64_t columnsTogether(LaunchOp map) {
  const ActivationFormat *format =
      tile::activationFormatOf(getElementTypeOrSelf(map.getResult(0).getType()));
  return format ? format->scaleLength : 1;
}

// Whether the weights of a grouped matmul can have their rows in the order that the map asks for;
// vectors of columns would be of one expert.
static bool suitsExperts(GroupedDotOp matmul, MapOfMatmul found) {
  const auto slices = static_cast<int64_t>(found.slices.size());
  return (slices < 2 || matmul.getParts() == 1 || matmul.getParts() == slices) &&
         llvm::all_of(found.map.getOperandTypes(),
                      [](Type type) { return cast<RankedTensorType>(type).getRank() == 2; });
}

static void fuseMap(LaunchOp matmul, const FuseOptions &options) {
  std::optional<MapOfMatmul> found = match(matmul.getResult(0));
  if (!found || !pays({.launchesSaved = 1}, options))
    return;
  auto grouped = mainOf<GroupedDotOp>(matmul);
  if (grouped && !suitsExperts(grouped, *found))
    return;
  SmallVector<Piece> pieces = {{matmul, {}}};
  for (SliceOp slice : found->slices)
    pieces.push_back({slice, kEpilogue});
  pieces.push_back({found->map, kEpilogue});
  if (!operandsPrecede(pieces, matmul))
    return;
  const int64_t parts = static_cast<int64_t>(found->slices.size());
  const int64_t width = columnsOf(found->map.getResult(0));
  int64_t columns = columnsTogether(found->map);
  SmallVector<RowPart> order;
  if (parts > 1) {
    columns = std::max(kPartColumns, columns);
    order = columnPartOrder(parts, width, columns);
  }
  if (grouped)
    order = expertOrder(grouped, parts, columns);
  LaunchOp launch = merge(pieces, matmul);
  setRowOrder(launch, order);
  launch.setColumnsAttr(
      Builder(launch.getContext()).getI64IntegerAttr(std::max<int64_t>(1, parts) * columns));
}

// Whether the map reads the sums once, as rows of its own shape.
static bool readsSums(LaunchOp map, Value sums) {
  auto op = mainOf<MapOp>(map);
  return isRowwise(op) && inSlot(map, kStore).empty() && llvm::count(map.getOperands(), sums) == 1;
}

// The sum of experts' rows -> maps, one after another: the shared expert, the residual.
static void fuseMapsOfSums(LaunchOp combine) {
  for (LaunchOp map; (map = onlyLaunch<MapOp>(combine.getResult(0)));) {
    if (!readsSums(map, combine.getResult(0)) ||
        !operandsPrecede({{combine, {}}, {map, kEpilogue}}, combine))
      return;
    combine = merge({{combine, {}}, {map, kEpilogue}}, combine);
  }
}

void fuseMapEpilogue(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp matmul : launchesOf<DotGeneralOp, GroupedDotOp>(module))
    if (isPlainMatmul(matmul) || isPlainGroupedMatmul(matmul))
      fuseMap(matmul, options);
  for (LaunchOp combine : launchesOf<CombineRowsOp>(module))
    fuseMapsOfSums(combine);
}

} // namespace sinter::graph
