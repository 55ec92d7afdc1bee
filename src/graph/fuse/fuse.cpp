// The order of the patterns.
#include "tile/mlir_pch.h"

#include "graph/fuse/passes.h"

namespace sinter::graph {

bool pays(const FusionCost &cost, const FuseOptions &options) {
  return cost.numbersRepeated <= cost.launchesSaved * options.numbersPerLaunch;
}

void fuse(mlir::ModuleOp module, const FuseOptions &options) {
  if (options.twoPhases) {
    splitPhases(module);
    keepNormsUnquantized(module);
  }
  wrapOperations(module, options);
  fuseQuantizeStore(module, options);
  fuseColumnEpilogue(module, options);
  fuseHeadRows(module, options);
  fuseQkvEpilogue(module, options);
  fuseMapEpilogue(module, options);
  placeRopeInPlace(module, options);
  fuseNormPrologue(module, options);
  sharePackedTables(module, options);
}

} // namespace sinter::graph
