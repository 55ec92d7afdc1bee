// norm | map | attention -> quantize: the kernel stores the quantized form. Saves a launch, and
// writing and reading the floats; repeats nothing, since each tile is stored once. Attention's tile
// must hold whole groups of elements that share a scale.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

// Columns of joined heads that a program of attention stores together.
static int64_t columnsTogether(PagedAttentionOp op, const FuseOptions &options) {
  PoolShape pool = poolShapeOf(op.getValues().getType());
  const int64_t groupHeads = op.getQuery().getType().getDimSize(1) / pool.heads;
  return options.joinsHeads ? groupHeads * pool.dim : pool.dim;
}

static bool holdsScales(LaunchOp quantize, int64_t columns) {
  Type element = getElementTypeOrSelf(mainOf(quantize)->getResult(0).getType());
  const ActivationFormat *format = tile::activationFormatOf(element);
  return !format || columns % format->scaleLength == 0;
}

static void fuseAttention(LaunchOp launch, const FuseOptions &options) {
  if (launch.getNumResults() != 1)
    return;
  auto joined = onlyUser<ReshapeOp>(launch.getResult(0));
  LaunchOp quantize =
      joined && joined.keepsRows() ? onlyLaunch<QuantizeOp>(joined.getResult()) : LaunchOp();
  if (quantize && holdsScales(quantize, columnsTogether(mainOf<PagedAttentionOp>(launch), options)))
    merge({{launch, {}}, {joined, kStore}, {quantize, kStore}}, launch);
}

// Norms and maps.
static void fuseRows(LaunchOp launch) {
  LaunchOp quantize =
      launch.getNumResults() == 1 ? onlyLaunch<QuantizeOp>(launch.getResult(0)) : LaunchOp();
  if (quantize)
    merge({{launch, {}}, {quantize, kStore}}, launch);
}

void fuseQuantizeStore(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp launch : launchesOf<PagedAttentionOp>(module))
    fuseAttention(launch, options);
  for (LaunchOp launch : launchesOf<MapOp>(module))
    fuseRows(launch);
}

void fuseNormQuantizeStore(ModuleOp module, const FuseOptions &) {
  for (LaunchOp launch : launchesOf<NormOp>(module))
    fuseRows(launch);
}

} // namespace sinter::graph
