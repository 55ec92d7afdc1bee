// Prefill and decode as two functions.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

LogicalResult verifyOneFunction(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  const auto count = std::distance(functions.begin(), functions.end());
  if (count != 1)
    return module.emitError() << "has " << count << " functions, expected one to split by phase";
  if ((*functions.begin()).isExternal())
    return (*functions.begin()).emitOpError() << "has no body, expected one to split by phase";
  return success();
}

void splitPhases(ModuleOp module) {
  auto step = *module.getOps<func::FuncOp>().begin();
  OpBuilder b(step);
  b.setInsertionPointAfter(step);
  auto decode = cast<func::FuncOp>(b.clone(*step));
  step.setSymName(kPrefillPhase);
  step->setAttr(kPhaseName, b.getStringAttr(kPrefillPhase));
  decode.setSymName(kDecodePhase);
  decode->setAttr(kPhaseName, b.getStringAttr(kDecodePhase));
}

} // namespace sinter::graph
