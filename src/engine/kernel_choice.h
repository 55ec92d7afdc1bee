// Which instance of which kernel runs a graph operation: block sizes from static extents and from
// how many rows there are. All variants of one operation reduce in the same order, so that a row's
// bits do not depend on the choice.
#pragma once

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "kernels/tokens.h"

namespace sinter::engine {

// How many rows a launch has.
enum class RowBucket { Many, One };

kernels::RmsNorm chooseNorm(int64_t columns, kernel::Element out);
// A stream of [M, columns] f32 through a map region to f32 or a block format.
kernels::QuantizeRows chooseStream(int64_t columns, kernel::Element out);
kernels::Embed chooseEmbed(int64_t columns, kernel::Element table);
kernels::Gemm chooseGemm(kernel::Element a, kernel::Element b, int64_t n, int64_t k,
                         RowBucket rows);
kernels::Rope chooseRope(int64_t heads, int64_t headDim, bool halves, bool inPlace);
kernels::KvWrite chooseKvWrite(int64_t kvHeads, int64_t headDim, int64_t pageRows);

struct AttentionShape {
  int64_t kvHeads = 0, groupHeads = 0, headDim = 0, pageRows = 0;
};
// `queryBlock` is the most query rows of a block of many.
kernels::Attention chooseAttention(const AttentionShape &shape, kernel::Element out,
                                   int64_t queryBlock, RowBucket rows);

} // namespace sinter::engine
