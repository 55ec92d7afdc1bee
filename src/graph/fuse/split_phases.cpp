// Prefill and decode as two functions, and what decode leaves as floats.
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

// The quantized form of a norm, if that alone is read; the norm itself where it is not quantized.
static Value readForm(NormOp norm) {
  auto quantize = onlyUser<QuantizeOp>(norm.getResult());
  return quantize ? quantize.getResult() : norm.getResult();
}

static bool isOfDecode(Operation *op) {
  auto phase = op->getParentOfType<func::FuncOp>()->getAttrOfType<StringAttr>(kPhaseName);
  return phase && phase.getValue() == kDecodePhase;
}

void keepNormsUnquantized(ModuleOp module) {
  SmallVector<NormOp> norms;
  module.walk([&](NormOp norm) { norms.push_back(norm); });
  for (NormOp norm : norms) {
    Value read = readForm(norm);
    auto matmul = onlyUser<DotGeneralOp>(read);
    if (!isOfDecode(norm) || !matmul || read == norm.getResult() || matmul.getA() != read)
      continue;
    matmul.getAMutable().assign(norm.getResult());
    read.getDefiningOp()->erase();
  }
}

} // namespace sinter::graph
