// Values of symbols: which edges of a graph bind them, and shapes under a binding.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace sinter::graph {

/// Whether each symbol of the function's tensors stands alone as an extent of an input or state,
/// from whose shape its value follows; a diagnostic on the first operation where one does not.
mlir::LogicalResult verifySymbols(mlir::func::FuncOp function);

/// Values of symbols. Errors are InvalidArgument and name the tensor, the axis and both extents.
class Binding {
public:
  /// Binds the symbols that stand alone in `type` to the extents of a tensor that the caller gives.
  Result<void> bind(llvm::StringRef name, mlir::RankedTensorType type,
                    llvm::ArrayRef<int64_t> shape);
  void set(llvm::StringRef symbol, int64_t value) { values_[symbol] = value; }
  std::optional<int64_t> valueOf(llvm::StringRef symbol) const;

  /// The extents of `type`, whose product times 8 bytes fits in 63 bits.
  Result<llvm::SmallVector<int64_t>> shapeOf(mlir::RankedTensorType type) const;
  /// Whether `shape` is what `type` says now that all symbols are bound.
  Result<void> check(llvm::StringRef name, mlir::RankedTensorType type,
                     llvm::ArrayRef<int64_t> shape) const;

private:
  llvm::StringMap<int64_t> values_;
};

/// A place in a source for messages: "file:line:column", or the name that the model's builder gave.
std::string placeOf(mlir::Location location);

} // namespace sinter::graph
