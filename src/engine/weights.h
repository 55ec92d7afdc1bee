// How the weights of a matrix product are packed.
#pragma once

#include "engine/kernel_choice.h"
#include "plan/plan.h"
#include "tile/tile.h"

namespace sinter::engine {

// Whether blocks of this format are multiplied as integers with rounded activations; what is not is
// decoded. False of scalars.
bool hasIntegerDot(mlir::Type element);
bool hasIntegerDot(const kernel::Element &element);

// Rows of a weight that lie side by side; 1 where rows stay whole: blocks of threads fetch pieces
// of rows of scalars, and decoded blocks stay as they are.
int64_t interleavedRows(const kernel::Element &element, Programs programs);

// The recipe that interleaves `rows` rows of `columns` elements: block formats as the integer dot
// reads them, scalars one by one. Unsupported, in one sentence about the format: it has no such
// packing.
Result<plan::PackRecipe> interleavedRecipe(mlir::Type element, int64_t columns, int64_t rows);

} // namespace sinter::engine
