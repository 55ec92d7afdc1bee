// Any operation of the graph as launches of the generic kernels on strided views
// (kernels/views.h), for what no fusion takes.
#pragma once

#include "engine/launch.h"
#include "graph/graph.h"
#include "kernels/gemm.h"
#include "kernels/views.h"

#include <variant>

namespace sinter::engine {

// Memory of a graph's values, by whoever lowers it. Views have the values' own axes.
class ValueMemory {
public:
  virtual ~ValueMemory() = default;
  // Where an operand lies, with any strides, or where a result shall lie, without gaps.
  virtual Result<BoundView> view(mlir::Value value) = 0;
  // Room without gaps for what launches hand to one another.
  virtual BoundView temporary(std::vector<plan::Expr> extents, mlir::Type element) = 0;
  // Elements that every run reads.
  virtual BoundView constant(std::vector<plan::Expr> extents, std::vector<uint8_t> bytes) = 0;
};

using GenericParams = std::variant<kernels::MapViews, kernels::ReduceViews, kernels::FoldViews,
                                   kernels::IotaViews, kernels::GatherViews, kernels::Gemm>;

// A launch of the registry's kernel with these parameters; `variant` tells kernels apart whose
// fields are equal. Views are in the order of the kernel's arguments.
struct GenericLaunch {
  GenericParams params;
  std::string variant;
  std::vector<BoundView> views;
};

// In their order. Unsupported: an operation that has no generic form (of the decoder's vocabulary,
// and norms, which graph::decomposeNorms takes apart), activations in blocks, and views of more
// than kernels::kMaxViewRank axes. Weights in blocks are dequantized first where a kernel takes
// none.
Result<std::vector<GenericLaunch>> genericLaunches(mlir::Operation *op, ValueMemory &memory);

} // namespace sinter::engine
