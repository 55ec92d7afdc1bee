// Kernels in lane form as an extension of the tile interpreter's engine.
#pragma once

#include "sched/interpreter/interpreter.h"
#include "tile/interpreter/engine.h"

#include <memory>

namespace sinter::sched {

bool isLaneForm(tile::KernelOp kernel);

/// How a scalar or a vector of one dimension lies in memory; count is 1 for a scalar.
struct LaneWord {
  tile::Element element;
  int64_t count = 1;
  bool isVector = false;

  int64_t bytes() const { return count * element.bytes; }
};
/// None for types that lane form does not have.
std::optional<LaneWord> laneWordOf(mlir::Type type);

/// Runs blocks of kernels that verifyLanes passes, which checkKernel asks. `options` outlives it.
std::unique_ptr<tile::Extension> makeLaneExtension(const InterpreterOptions &options);

} // namespace sinter::sched
