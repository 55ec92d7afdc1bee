// The KV state's type, where only its width was asked for.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "graph/rewrite/passes.h"

using namespace mlir;

namespace sinter::graph {

void keepPools(ModuleOp module, Type element) {
  module.walk([&](Operation *op) {
    if (!isa<StateOp, KvAppendOp>(op))
      return;
    Value pool = op->getResult(0);
    auto type = cast<RankedTensorType>(pool.getType());
    SINTER_CHECK(type.getElementType().isF16() || type.getElementType().isBF16());
    pool.setType(type.clone(element));
  });
}

} // namespace sinter::graph
