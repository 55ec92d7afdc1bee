// Where a matmul's tiles rotate neighbours, heads are stored as halves: first the first elements of
// all pairs, then the second ones. A dot product of query and key is the same in any order, if both
// have that order.
#pragma once

#include "graph/fuse/launch.h"

namespace sinter::graph {

/// RoPE that may be stored so.
class PairOrder {
public:
  explicit PairOrder(mlir::ModuleOp module) : module_(module) {}

  /// One more rope, a launch of its own; null is none.
  void add(RopeOp rope);
  /// Whether it is one of them; halves have their order anyway.
  bool contains(RopeOp rope) const;
  bool remove(RopeOp rope) { return ropes_.remove(rope); }
  /// Removes those whose rows another operation than attention reads, or of whose pool of keys some
  /// query or key has another order.
  void keepConsistent();

private:
  mlir::ModuleOp module_;
  llvm::SetVector<mlir::Operation *> ropes_;
};

} // namespace sinter::graph
