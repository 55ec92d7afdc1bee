// How far along each axis a tile value is ever read: rows beyond the last stored one are never
// computed.
#pragma once

#include "tile/tile.h"

namespace sinter::target::cpu {

// The needed extent of one axis: everything, nothing yet, or up to the edge of a stored view.
struct Demand {
  enum Kind : uint8_t { None, Edge, Full } kind = None;
  mlir::Value view; // Edge: extent is min(tile extent, dim(view, axis) - offset)
  mlir::Value offset;
  int64_t axis = 0;

  bool operator==(const Demand &) const = default;
};

// Demands of every tile value of a kernel, found backwards from its stores.
class DemandAnalysis {
public:
  explicit DemandAnalysis(tile::KernelOp kernel);
  // Full for values that nothing was found out about.
  Demand of(mlir::Value value, int64_t axis) const;

private:
  bool visit(mlir::Operation *op);
  bool merge(mlir::Value value, int64_t axis, Demand demand);
  bool mergeAll(mlir::Value from, mlir::Value to);
  bool mergeFull(mlir::Value value);
  bool visitStore(tile::StoreOp store);
  bool visitDot(tile::DotOp dot);
  bool visitReduce(tile::ReduceOp reduce);
  bool visitMove(mlir::Operation *op);
  bool visitLoop(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<Demand>> demands_;
};

} // namespace sinter::target::cpu
