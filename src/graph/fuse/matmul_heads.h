// Queries, keys and values as heads: what norms, RoPE and the KV cache do with each of them. The
// same of operations that are launches of their own and of those in one body.
#pragma once

#include "graph/fuse/launch.h"

namespace sinter::graph {

enum class HeadKind { Queries, Keys, Values };

/// One of them; null where an operation is absent.
struct HeadPart {
  SliceOp slice;     // of the matmul's columns; null where the part has all of them
  ReshapeOp reshape; // to heads; null in a launch of heads in memory
  NormOp before, after; // of each head, beside the RoPE; `before` where there is none
  RopeOp rope;
  KvAppendOp append;
  mlir::Value heads, result; // [T, heads, D], and what the last operation makes of it

  HeadKind kind() const;
  int64_t count() const { return typeOf(heads).getDimSize(1); }
  int64_t headDim() const { return typeOf(heads).getDimSize(2); }
  /// All operations but the slice and the reshape.
  llvm::SmallVector<mlir::Operation *> operations() const;

private:
  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
};

/// Queries, keys, values, or some of these in that order: heads of one size that rotate alike, have
/// norms with one epsilon before or after their RoPE, and are appended at the same slots to pools
/// of one shape.
struct MatmulHeads {
  llvm::SmallVector<HeadPart, 3> parts;

  /// Null where there is none of that kind.
  const HeadPart *find(HeadKind kind) const;
  /// The first one; null where no part rotates.
  RopeOp rope() const;
  KvAppendOp append() const;
  NormOp norm() const;
  int64_t headDim() const { return parts.front().headDim(); }
  /// Elements of a head of queries or keys that rotate, and those that stay.
  int64_t rotating() const;
  int64_t rest() const { return headDim() - rotating(); }
  bool normsFollow() const; // their RoPE
  int64_t operationCount() const;
};

/// The heads that the columns of a matmul's result are; none where they are something else.
std::optional<MatmulHeads> matmulHeadsOf(mlir::Value columns);
/// The heads that a launch reads from memory, by what it does with them.
std::optional<MatmulHeads> headRowsOf(LaunchOp launch);
/// Whether a launch's main operation is the first of several on heads in memory.
bool isHeadRows(LaunchOp launch);

} // namespace sinter::graph
