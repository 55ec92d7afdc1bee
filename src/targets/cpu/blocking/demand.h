// How far along each axis a tile value is ever read: rows beyond the last stored one are never
// computed.
#pragma once

#include "tile/tile.h"

namespace sinter::targets::cpu {

// How much of a tile's axis lies inside of a view that it is stored to: dim(view, axis) - offset.
struct Edge {
  mlir::Value view, offset;
  int64_t axis = 0;

  bool operator==(const Edge &) const = default;
};

// The needed extent of one axis: nothing yet, up to the furthest of some edges, or everything.
struct Demand {
  enum Kind : uint8_t { None, Edges, Full } kind = None;
  llvm::SmallVector<Edge, 1> edges = {};
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

} // namespace sinter::targets::cpu
