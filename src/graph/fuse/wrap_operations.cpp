// Each operation as a launch of its own.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

static ArrayAttr bucketsOf(func::FuncOp function, const FuseOptions &options) {
  Builder b(function.getContext());
  auto phase = function->getAttrOfType<StringAttr>(kPhaseName);
  if (options.twoPhases)
    return b.getStrArrayAttr(
        {phase && phase.getValue() == kDecodePhase ? kOneBucket : kPrefillBucket});
  return b.getStrArrayAttr({kPrefillBucket, kSmallBucket, kOneBucket});
}

static void wrap(Operation *op, ArrayAttr buckets) {
  const LaunchKernel *kernel = launchKernelOf(op);
  OpBuilder b(op);
  auto launch = LaunchOp::create(
      b, op->getLoc(), op->getResultTypes(), op->getOperands(),
      b.getNamedAttr("kernel", FlatSymbolRefAttr::get(op->getContext(),
                                                      kernel ? StringRef(kernel->name)
                                                             : op->getName().stripDialect())));
  if (kernel && kernel->buckets)
    launch.setBucketsAttr(buckets);
  op->replaceAllUsesWith(launch.getResults());
  mlir::Block *body = b.createBlock(&launch.getBody());
  for (Value operand : launch.getOperands())
    body->addArgument(operand.getType(), op->getLoc());
  op->moveBefore(body, body->end());
  op->setOperands(body->getArguments());
  b.setInsertionPointToEnd(body);
  ReturnOp::create(b, op->getLoc(), op->getResults());
}

// What is there before a step begins comes first, so that any launch may read it.
static void hoistEdges(func::FuncOp function) {
  mlir::Block &block = function.getBody().front();
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<InputOp, StateOp, WeightOp, ConstantOp>(op))
      continue;
    if (last)
      op.moveAfter(last);
    else
      op.moveBefore(&block, block.begin());
    last = &op;
  }
}

void wrapOperations(ModuleOp module, const FuseOptions &options) {
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    hoistEdges(function);
    ArrayAttr buckets = bucketsOf(function, options);
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      if (isLaunched(&op))
        wrap(&op, buckets);
  }
}

} // namespace sinter::graph
