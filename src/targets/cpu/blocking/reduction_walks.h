// Values that a reduction's walk over what it reduces leaves in scratch too, instead of walks of
// their own before and after it: what it reduces itself, and the words of two that matmuls read.
// Where numbers are dear (attention's weights, exponentials that keep two ports busy) folding,
// rounding and storing them fit beside the arithmetic.
#pragma once

#include "targets/cpu/blocking/demand.h"
#include "targets/cpu/blocking/placement.h"

namespace sinter::targets::cpu {

class ReductionWalks {
public:
  ReductionWalks(tile::KernelOp kernel, const Placement &placement, const DemandAnalysis &demand);

  // What this reduction's walk leaves; each is read after it only.
  llvm::ArrayRef<mlir::Value> leftBy(tile::ReduceOp reduce) const;
  // Whether some reduction makes the value, so that its own place in the kernel makes nothing.
  bool makes(mlir::Value value) const { return made_.contains(value); }

private:
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> left_;
  llvm::DenseSet<mlir::Value> made_;
};

} // namespace sinter::targets::cpu
