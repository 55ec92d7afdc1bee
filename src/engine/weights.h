// How the weights of a matrix product are packed.
#pragma once

#include "engine/kernel_choice.h"
#include "numeric/formats/dot_packing.h"
#include "plan/plan.h"
#include "tile/tile.h"

namespace sinter::engine {

// How such programs read blocks of this format for integer dots; Unsupported where they do not.
Result<DotPacking> packingFor(const BlockFormat &format, TargetKind kind);

// The format to which activations are rounded that multiply blocks of this format; null for scalars
// and where blocks are dequantized instead.
const ActivationFormat *activationFor(const BlockFormat *format, MatmulPrecision rules);

// Rows of a weight that lie side by side; 1 where rows stay whole: thread blocks fetch pieces
// of rows of scalars, and dequantized blocks stay as they are.
int64_t interleavedRows(const kernel::Element &element, MatmulPrecision rules);

// The recipe that interleaves `rows` rows of `columns` elements: block formats as the integer dot
// reads them, scalars one by one. Unsupported, in one sentence about the format: it has no such
// packing.
Result<plan::PackRecipe> interleavedRecipe(mlir::Type element, int64_t columns, int64_t rows);

} // namespace sinter::engine
