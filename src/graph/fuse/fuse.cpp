// The order of the patterns.
#include "tile/mlir_pch.h"

#include "graph/fuse/passes.h"
#include "numeric/formats/dot_packing.h"

namespace sinter::graph {

// Numbers of a row that programs may read again, each for itself, instead of one more launch.
static constexpr int64_t kNumbersPerLaunch = 128 * 1024;
// Columns of a head that a thread block rotates with their partners beside them: those of one
// matrix instruction, so that many programs share a row.
static constexpr int64_t kGroupColumns = 8;

FuseOptions cpuFuseOptions() {
  FuseOptions options;
  options.numbersPerLaunch = kNumbersPerLaunch;
  return options;
}

// A launch more costs about 1.1 us (SmolLM2's shape in F16 on an H100, 61 launches more a token:
// 1,424 instead of 1,573 tokens per second). A prologue costs each of a multiprocessor's programs,
// one after the other, a sum over all threads (8B in F16: 139 instead of 165).
FuseOptions simtFuseOptions() {
  FuseOptions options = cpuFuseOptions();
  options.twoPhases = true;
  options.joinsHeads = false;
  options.groupColumns = kGroupColumns;
  options.groupColumnsOfBlocks = kActivationLength;
  options.decodeColumns = kSimtDecodeColumns;
  return options;
}

bool pays(const FusionCost &cost, const FuseOptions &options) {
  return cost.numbersRepeated <= cost.launchesSaved * options.numbersPerLaunch;
}

void fuse(mlir::ModuleOp module, const FuseOptions &options) {
  if (options.twoPhases)
    splitPhases(module);
  wrapOperations(module, options);
  fuseQuantizeStore(module, options);
  fuseColumnEpilogue(module, options);
  fuseHeadRows(module, options);
  fuseQkvEpilogue(module, options);
  fuseOtherHeadRows(module, options);
  fuseMapEpilogue(module, options);
  placeRopeInPlace(module, options);
  keepNormsUnquantized(module, options);
  fuseNormSquares(module, options);
  fuseNormPrologue(module, options);
  fuseNormQuantizeStore(module, options);
  sharePackedTables(module, options);
}

} // namespace sinter::graph
