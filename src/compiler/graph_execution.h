// A graph's plan on a device of this machine.
#pragma once

#include "graph/evaluate/evaluate.h"
#include "hal/hal.h"
#include "plan/plan.h"

namespace sinter::compiler {

/// The first device that runs the plan's code, else the first of that driver. NotFound: this
/// machine has none, or no driver loads such code.
Result<std::unique_ptr<hal::Device>> openDeviceOf(const plan::Plan &plan);

/// What the plan of engine::buildGraphPlan(function) makes of the edges: its outputs, and the
/// states as the run leaves them. A plan that owns its states may order a pool's elements
/// otherwise. Weights are packed as the plan says. Errors as of graph::evaluate for edges that do
/// not fit, and as of runtime::Executor.
Result<graph::Outcome> executeGraph(hal::Device &device, plan::Plan plan,
                                    mlir::func::FuncOp function, const graph::Edges &edges);

/// The largest distance of elements from those of `exact`, in parts of the largest element of the
/// tensor (at least 1). Infinite where one is no number and the other is.
double largestError(const graph::Tensor &found, const graph::Tensor &exact);
/// The largest of tensors of the same names.
double largestError(const graph::NamedTensors &found, const graph::NamedTensors &exact);

/// Twice the distance between two neighbours of the element type, in parts of the largest element:
/// equal numbers that are computed in another order may round to either.
double roundingOf(mlir::Type element);

} // namespace sinter::compiler
