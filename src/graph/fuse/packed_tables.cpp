// gather of a weight that a matmul reads too: the embedding reads the matmul's packed copy, and the
// file's own bytes stay where they are. Saves the table's memory.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

// Matmuls whose rows are packed in the file's order.
static bool packsInOrder(Operation *user, Value weight) {
  auto matmul = dyn_cast<LaunchOp>(user);
  return runs<DotGeneralOp>(matmul) && outerValue(mainOf<DotGeneralOp>(matmul).getB()) == weight &&
         !matmul.getRowOrder();
}

void sharePackedTables(ModuleOp module, const FuseOptions &) {
  for (LaunchOp gather : launchesOf<GatherOp>(module)) {
    Value table = outerValue(mainOf<GatherOp>(gather).getTable());
    if (table.getDefiningOp<WeightOp>() &&
        llvm::any_of(table.getUsers(), [&](Operation *user) { return packsInOrder(user, table); }))
      gather.setPackedTable(true);
  }
}

} // namespace sinter::graph
