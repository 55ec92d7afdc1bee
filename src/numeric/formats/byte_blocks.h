// Block formats that kernels round to: a signed byte for each element, in order, and one F16 scale.
#pragma once

#include "numeric/formats/block_format.h"

namespace sinter {

// Where such a format keeps them. Rounding is that of Rounding::AbsMax: scale = largest magnitude /
// largestCode; code = element / scale, ties away from zero.
struct ByteBlocks {
  uint32_t scaleOffset = 0; // bytes from the start of a block
  uint32_t codeOffset = 0;
  int32_t largestCode = 0;
};

// Unsupported, in one sentence, where the format is none of them.
Result<ByteBlocks> byteBlocks(const BlockFormat &format);

} // namespace sinter
