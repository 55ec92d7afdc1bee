// How weights are packed, and rows of activations padded.
#pragma once

#include "engine/choice/precision.h"
#include "engine/elements.h"
#include "numeric/formats/dot_packing.h"
#include "plan/plan.h"
#include "tile/tile.h"

#include <optional>

namespace sinter::engine {

// How programs of this kind read blocks of this format for integer dots; Unsupported where they do
// not.
Result<DotPacking> packingFor(const BlockFormat &format, TargetKind kind);

// Weights of a matrix from which on decode matmuls share depth. Fewer lie in the second-level
// cache.
inline constexpr int64_t kWeightsForShares = int64_t(2) << 20;

// How many rows of a matrix of so many weights are interleaved; 1: none. Unquantized rows stay
// whole, since thread blocks copy pieces of them, and so do formats that are dequantized from the
// file's order.
int64_t interleavedRows(const kernel::Element &element, int64_t weights, MatmulPrecision rules);

// The recipe that interleaves `rows` rows of `columns` elements: block formats as the integer dot
// reads them, scalars one by one. Unsupported, in one sentence about the format: it has no such
// packing.
Result<plan::PackRecipe> interleavedRecipe(mlir::Type element, int64_t columns, int64_t rows);

// Blocks that a row of so many quantized activations takes, so that rows begin in different banks;
// none where rows follow one another.
std::optional<int64_t> paddedBlocks(int64_t blocks, int64_t blockBytes,
                                    const TargetProfile &profile);

} // namespace sinter::engine
