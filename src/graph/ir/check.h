// Checks that the verifiers of the dialect share.
#pragma once

#include "graph/graph.h"

namespace sinter::graph {

/// Checks of one operation; each returns failure after a diagnostic on it.
class Check {
public:
  explicit Check(mlir::Operation *op) : op_(op) {}

  using Type = mlir::RankedTensorType;
  mlir::LogicalResult rank(llvm::StringRef what, Type type, int64_t expected) const;
  mlir::LogicalResult element(llvm::StringRef what, Type type, mlir::Type expected) const;
  mlir::LogicalResult f32(llvm::StringRef what, Type type) const;
  /// No block format.
  mlir::LogicalResult scalars(llvm::StringRef what, Type type) const;
  /// i32 indices of the given rank.
  mlir::LogicalResult indices(llvm::StringRef what, Type type, int64_t expected) const;
  /// One axis of two tensors that must agree.
  mlir::LogicalResult agree(llvm::StringRef what, Type a, int64_t axisA, llvm::StringRef other,
                            Type b, int64_t axisB) const;
  mlir::LogicalResult sameShape(llvm::StringRef what, Type a, llvm::StringRef other, Type b) const;
  mlir::LogicalResult same(llvm::StringRef what, mlir::Type found, mlir::Type expected) const;
  /// Axes of `type`, each in range and named once.
  mlir::LogicalResult axes(llvm::StringRef what, Type type, llvm::ArrayRef<int64_t> axes) const;
  /// As many numbers as `type` has axes.
  mlir::LogicalResult perAxis(llvm::StringRef what, Type type,
                              llvm::ArrayRef<int64_t> numbers) const;

private:
  mlir::Operation *op_;
};

} // namespace sinter::graph
