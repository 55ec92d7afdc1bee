// norm -> matmul, in decode on SIMT targets: each program makes the norm of its row itself. Saves a
// launch; every program reads the whole row again, so it pays where programs times K are few.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

// Each program of the matmul reads the K numbers of its row.
static int64_t numbersRepeated(LaunchOp matmul, const FuseOptions &options) {
  DotGeneralOp op = mainOf<DotGeneralOp>(matmul);
  const int64_t multiple = matmul.getColumns().value_or(1);
  const auto columns = static_cast<int64_t>(llvm::alignTo(options.decodeColumns, multiple));
  const int64_t programs = llvm::divideCeil(columnsOf(op.getResult()), columns);
  return programs * columnsOf(op.getA());
}

static bool prologuePays(LaunchOp norm, LaunchOp matmul, const FuseOptions &options) {
  return inSlot(norm, kStore).empty() && mainOf<NormOp>(norm).isRmsOfRows() &&
         mainOf<DotGeneralOp>(matmul).isLinear() &&
         pays({.launchesSaved = 1, .numbersRepeated = numbersRepeated(matmul, options)}, options);
}

// The launch that quantizes a norm for this matmul alone; null where there is none.
static LaunchOp quantizeOfNorm(LaunchOp matmul) {
  Value rows = outerValue(mainOf<DotGeneralOp>(matmul).getA());
  LaunchOp quantize = makerOf<QuantizeOp>(rows);
  if (!quantize || !isAlone(quantize) || !rows.hasOneUse())
    return {};
  Value norm = quantize.getOperand(0);
  return makerOf<NormOp>(norm) && norm.hasOneUse() ? quantize : LaunchOp();
}

void keepNormsUnquantized(ModuleOp module, const FuseOptions &options) {
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module)) {
    LaunchOp quantize = isDecode(matmul) ? quantizeOfNorm(matmul) : LaunchOp();
    if (!quantize)
      continue;
    Value norm = quantize.getOperand(0);
    const bool shares = options.sharesDepth && options.sharesDepth(matmul);
    if (shares && !prologuePays(makerOf<NormOp>(norm), matmul, options))
      continue;
    auto argument = cast<BlockArgument>(mainOf<DotGeneralOp>(matmul).getA());
    matmul->setOperand(argument.getArgNumber(), norm);
    argument.setType(norm.getType());
    quantize.erase();
  }
}

void fuseNormPrologue(ModuleOp module, const FuseOptions &options) {
  if (!options.twoPhases)
    return;
  for (LaunchOp matmul : launchesOf<DotGeneralOp>(module)) {
    Value rows = outerValue(mainOf<DotGeneralOp>(matmul).getA());
    LaunchOp norm = makerOf<NormOp>(rows);
    if (norm && isDecode(matmul) && rows.hasOneUse() && prologuePays(norm, matmul, options))
      merge({{norm, kPrologue}, {matmul, {}}}, matmul);
  }
}

} // namespace sinter::graph
