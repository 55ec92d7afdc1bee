// In which order a matmul's weight has its rows, so that a program's tile holds what belongs
// together.
#pragma once

#include "graph/fuse/matmul_heads.h"

namespace sinter::graph {

/// Parts of the longest order that a plan states (plan::kMaxRowSegments).
inline constexpr size_t kMostRowParts = 1024;

/// Tiles of `columns` columns of each of several parts, such as gate and up, that have `width`.
llvm::SmallVector<RowPart> columnPartOrder(int64_t parts, int64_t width, int64_t columns);

/// Rows of experts' matrices, expert by expert, as a kernel with `slices` column slices reads them:
/// tiles of `columns` columns of each slice, which are the matmul's parts or lie in its one part. 0
/// slices: whole parts. Empty where the rows lie so already, or where slices are neither.
llvm::SmallVector<RowPart> expertOrder(GroupedDotOp matmul, int64_t slices, int64_t columns);

/// Columns that rotate together lie `group` apart, 0: half of those of a head that rotate; empty where
/// they do already.
llvm::SmallVector<RowPart> headOrder(const MatmulHeads &heads, int64_t group);
/// Whether tiles of so many columns have whole groups of a head's columns that rotate, or of its
/// others.
bool hasGroups(const MatmulHeads &heads, int64_t columns);

} // namespace sinter::graph
