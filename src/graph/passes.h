// Rewrites of a graph, one a file. Each takes a verified module and leaves a verified one.
#pragma once

#include "graph/graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::graph {

/// Contractions of one value with weights of one format become one contraction with the joined
/// weights, and slices of its result: fewer launches, and a's rows are read once.
void joinContracts(mlir::ModuleOp module);

/// Where a f32 value is contracted with a block format that `rounds` holds for, it is rounded to
/// block format `activation` first, once for all its contractions.
/// With `roundScalars`, where it is contracted with f16 or bf16 it is rounded to that.
void quantizeActivations(mlir::ModuleOp module, llvm::StringRef activation,
                         llvm::function_ref<bool(mlir::Type)> rounds, bool roundScalars = false);

} // namespace sinter::graph
