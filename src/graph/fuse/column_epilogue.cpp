// matmul -> map with vectors of columns, such as a bias: done on the matmul's tiles, before
// whatever else follows. The vectors are packed in the order of the weight's rows. Saves a launch,
// and writing and reading the matmul's result; repeats nothing.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

// Whether the map reads the matmul's result and besides only vectors of the model file.
static bool readsColumns(LaunchOp map, Value result) {
  auto op = mainOf<MapOp>(map);
  RankedTensorType type = op.getResult().getType();
  return inSlot(map, kStore).empty() && type == result.getType() && type.getRank() == 2 &&
         llvm::all_of(op.getValues(), [&](Value value) {
           return outerValue(value) == result || isColumnVector(value, type.getDimSize(1));
         });
}

void fuseColumnEpilogue(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module)) {
    if (!isPlainMatmul(matmul) || columnMapOf(matmul))
      continue;
    Value result = matmul.getResult(0);
    LaunchOp map = onlyLaunch<MapOp>(result);
    if (map && readsColumns(map, result) && pays({.launchesSaved = 1}, options))
      merge({{matmul, {}}, {map, kEpilogue}}, matmul);
  }
}

} // namespace sinter::graph
