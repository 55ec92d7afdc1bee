// The KV cache's type, where only its width was asked for.
#include "tile/mlir_pch.h"

#include "graph/rewrite/passes.h"

using namespace mlir;

namespace sinter::graph {

static void keepPool(Value pool, Type element) {
  auto type = cast<RankedTensorType>(pool.getType());
  const bool halves = type.getElementType().isF16() || type.getElementType().isBF16();
  if (halves && isa_and_nonnull<StateOp, KvAppendOp>(pool.getDefiningOp()))
    pool.setType(type.clone(element));
}

void keepPools(ModuleOp module, Type element) {
  module.walk([&](Operation *op) {
    if (auto append = dyn_cast<KvAppendOp>(op))
      for (Value pool : {append.getPool(), append.getResult()})
        keepPool(pool, element);
    if (auto attention = dyn_cast<PagedAttentionOp>(op))
      for (Value pool : {attention.getKeys(), attention.getValues()})
        keepPool(pool, element);
  });
}

} // namespace sinter::graph
