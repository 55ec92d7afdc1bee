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

static void fuseMap(LaunchOp matmul, const FuseOptions &options) {
  std::optional<MapOfMatmul> found = match(matmul.getResult(0));
  if (!found || !pays({.launchesSaved = 1}, options))
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
  LaunchOp launch = merge(pieces, matmul);
  setRowOrder(launch, order);
  launch.setColumnsAttr(
      Builder(launch.getContext()).getI64IntegerAttr(std::max<int64_t>(1, parts) * columns));
}

void fuseMapEpilogue(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module))
    if (isPlainMatmul(matmul))
      fuseMap(matmul, options);
}

} // namespace sinter::graph
