// Norms of decode: by a launch of their own, or by the matmuls that read them, from sums of squares
// that the matmuls before them store (graph/fuse/norm_squares.cpp). A row's bits are the same for
// any number of rows.
#pragma once

#include "engine/choice/precision.h"
#include "graph/graph.h"

#include <optional>
#include <string_view>

namespace sinter::engine {

// Apart: no sums are stored. Estimated: matmuls scale as many rows as cost less than a launch.
// Fused: as many as a program multiplies. Norms of more rows have a launch, from the same sums.
enum class DecodeNorms { Apart, Estimated, Fused };
inline constexpr std::string_view kDefaultDecodeNorms = "apart";

// "apart", "estimated", "fused"; nothing where the name is none of them.
std::optional<DecodeNorms> findDecodeNorms(std::string_view name);
// "apart, estimated, fused"
std::string decodeNormsNames();

// Most rows of a step that a matmul of decode scales as it reads them, in tiles of few tokens; 0:
// none. It depends on the matmul's N, K and weights alone.
int64_t normRows(graph::LaunchOp matmul, const MatmulPrecision &rules, DecodeNorms norms);

} // namespace sinter::engine
