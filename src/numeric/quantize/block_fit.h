// Quantising by search: blocks that dequantize as close to the values as we find, by least squares.
// Where quantizeRow() follows a format's rule bit for bit, this has no rule but the format table.
#pragma once

#include "numeric/formats/block_format.h"

namespace sinter {

// Whether rows can be fitted to this format: elements that convert on their own, or blocks whose
// codes stand for one element each and whose bytes all follow from codes, scales and minima.
bool canFit(const BlockFormat &format);

// Quantises whole blocks by search. `values` must be whole blocks and `out` exactly their bytes
// (our own mistake otherwise). The same values give the same bytes on every machine. Unsupported:
// canFit() is false, or a scale or value lies beyond what the format stores; InvalidArgument: a
// value is NaN or infinite.
//
// The root mean square error is at most that of the format's rounding rule, up to a few parts in a
// thousand. Scales and minima of both levels are fitted together: each group by itself first, then
// level 1 to what the groups found, then turn by turn level-2 scales, codes and level 1 as long as
// the block's error shrinks.
Result<void> fitRow(const BlockFormat &format, std::span<const float> values,
                    std::span<uint8_t> out);

} // namespace sinter
