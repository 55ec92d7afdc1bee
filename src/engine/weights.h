// How the weights of a matrix product are packed for the CPU target.
#pragma once

#include "plan/plan.h"
#include "tile/tile.h"

namespace sinter::engine {

// Rows of a packed matrix that lie side by side.
int64_t interleavedRows();

// The recipe that interleaves rows of `columns` elements: block formats as the integer dot reads
// them, scalars one by one. Unsupported, in one sentence about the format: it has no such packing.
Result<plan::PackRecipe> interleavedRecipe(mlir::Type element, int64_t columns);

} // namespace sinter::engine
