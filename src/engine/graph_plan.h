// Any graph in, a plan out: what the decoder's way (engine/engine.h) does, without a model file.
#pragma once

#include "engine/kernel_set.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "plan/plan.h"

namespace sinter::engine {

struct GraphPlanOptions {
  std::string target = "host"; // or another that targets::findTarget knows
  uint32_t threads = 0;        // that compile; 0: as many as the machine runs
  // The plan alone reads and writes states, so that elements of keys may lie in another order.
  bool ownsStates = false;
};

/// The buffer of an output: of its name, or where another edge has that, "NAME (output)".
std::string outputBuffer(mlir::func::FuncOp function, llvm::StringRef name);

/// The plan of a verified function of graph operations, which stays as it is. Procedure `step`
/// computes all outputs; inputs, states and weights' tensors have the graph's names.
/// Symbols are those that the module declares, then the others. No activation is rounded that the
/// graph does not round. Unsupported, beginning with the operation's place: one that has no kernel.
Result<plan::Plan> buildGraphPlan(mlir::func::FuncOp function, const GraphPlanOptions &options,
                                  const Progress &progress);

} // namespace sinter::engine
