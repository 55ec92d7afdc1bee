// Kernels in SIMT IR as an extension of the tile interpreter's engine.
#pragma once

#include "sched/interpreter/interpreter.h"
#include "tile/interpreter/engine.h"

#include <memory>

namespace sinter::sched {

bool isSimtForm(tile::KernelOp kernel);

/// How a scalar or a vector of one dimension lies in memory; count is 1 for a scalar.
struct SimtWord {
  tile::Element element;
  int64_t count = 1;
  bool isVector = false;

  int64_t bytes() const { return count * element.bytes; }
};
/// None for types that SIMT IR does not have.
std::optional<SimtWord> simtWordOf(mlir::Type type);

/// Runs blocks of kernels that verifySimt passes, which checkKernel asks. `options` outlives it.
std::unique_ptr<tile::Extension> makeSimtExtension(const InterpreterOptions &options);

} // namespace sinter::sched
