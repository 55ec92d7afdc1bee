// The KV state's type, where only its width was asked for.
#include "tile/mlir_pch.h"

#include "graph/passes.h"

using namespace mlir;

namespace sinter::graph {

void keepPools(ModuleOp module, Type element) {
  module.walk([&](Operation *op) {
    if (isa<StateOp, ScatterOp>(op))
      for (Value pool : op->getResults())
        pool.setType(cast<RankedTensorType>(pool.getType()).clone(element));
  });
}

} // namespace sinter::graph
