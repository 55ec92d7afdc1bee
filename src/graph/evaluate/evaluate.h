// The reference evaluator: runs any graph in f32 or f64 with plain loops. It is the oracle for
// passes, importers and compiled code.
#pragma once

#include "graph/evaluate/tensor.h"
#include "graph/graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <map>
#include <string>

namespace sinter::graph {

using NamedTensors = std::map<std::string, Tensor>;

/// What a graph reads. Tensors of other elements are rounded to those that the graph gives them,
/// f32 in both precisions: all runs read the same numbers.
struct Edges {
  NamedTensors inputs;
  NamedTensors states;                    // zeros where one is absent
  std::map<std::string, int64_t> symbols; // those that no input binds (of states)
  /// The named tensor of the model file: all of its rows, [rows, ...].
  std::function<Result<Tensor>(const std::string &name, mlir::RankedTensorType joined)> weight;
};

struct Outcome {
  NamedTensors outputs;
  NamedTensors states; // the last version of each
};

/// Runs a verified function of graph operations. Errors name the operation's place. Values are
/// freed after their last use.
Result<Outcome> evaluate(mlir::func::FuncOp function, const Edges &edges, Precision precision);

} // namespace sinter::graph
