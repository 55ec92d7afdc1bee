// The passes that take an emitted module to the LLVM dialect alone.
#include "targets/simt/emit_llvm.h"
#include "tile/mlir_pch.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sinter::targets::simt {

LogicalResult lowerToLlvm(ModuleOp module) {
  RewritePatternSet divisions(module.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(divisions);
  if (failed(applyPatternsGreedily(module, std::move(divisions))))
    return failure();
  PassManager passes(module.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

} // namespace sinter::targets::simt
