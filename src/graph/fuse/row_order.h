// In which order a matmul's weight has its rows, so that a program's tile holds what belongs
// together.
#pragma once

#include "graph/fuse/launch.h"

namespace sinter::graph {

/// Tiles of `columns` columns of each of several parts, such as gate and up, that have `width`.
llvm::SmallVector<RowPart> columnPartOrder(int64_t parts, int64_t width, int64_t columns);

/// Rows of experts' matrices, expert by expert, as a kernel with `slices` column slices reads them:
/// tiles of `columns` columns of each slice, which are the matmul's parts or lie in its one part. 0
/// slices: whole parts. Empty where the rows lie so already, or where slices are neither.
llvm::SmallVector<RowPart> expertOrder(GroupedDotOp matmul, int64_t slices, int64_t columns);

/// Queries, keys and values, or some of them, as columns of one matmul.
struct HeadParts {
  llvm::SmallVector<int64_t> counts; // heads of each part
  int64_t headDim = 0;
  bool lastIsValues = false;      // which do not rotate
  std::optional<Pairing> pairing; // none: no part rotates
};
/// Columns that rotate together lie `group` apart, 0: half a head; empty where they do already.
llvm::SmallVector<RowPart> headOrder(const HeadParts &parts, int64_t group);

} // namespace sinter::graph
