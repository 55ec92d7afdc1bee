// How block-scaled weights and activations are laid out for integer dot instructions: derived from
// the format table, read by packing recipes, generated kernels and the interpreter alike.
#pragma once

#include "base/status.h"
#include "numeric/block_format.h"
#include <vector>

namespace sinter {

// Rows whose blocks are stored side by side, unit by unit.
inline constexpr uint32_t kInterleavedRows = 16;

// A stretch of a block whose units (of `unitBytes`) interleave row by row; each byte is XORed with
// `xorByte`.
struct PackedField {
  uint32_t offset = 0; // in the file's block
  uint32_t bytes = 0;
  uint32_t unitBytes = 0;
  uint8_t xorByte = 0;
};

// Four neighbouring elements of a block as one byte each of a code unit.
struct CodeGroup {
  uint32_t unit = 0;  // of the code field
  uint32_t shift = 0; // bits to drop from each byte
};

// A block format whose codes an unsigned-by-signed byte dot can read after a shift and a mask.
struct DotPacking {
  const BlockFormat *format = nullptr;
  std::vector<PackedField> fields; // scale, minimum where there is one, codes
  std::vector<CodeGroup> groups;   // blockLength / 4 of them
  uint8_t mask = 0xff;
  int32_t zero = 0; // of the unsigned code
  bool hasMin = false;
  float minSign = 1; // minimum = minSign * the stored number
};

// Unsupported, in one sentence, where a format's codes do not lie so (several planes, tables,
// signs, two-level scales).
Result<DotPacking> dotPacking(const BlockFormat &format);

// The activation format of integer dots, Sinter's own: 32 elements in 44 bytes: scale (f32), scale
// * sum of the codes (f32), -128 * sum of the codes (i32: where a dot with codes whose zero is 128
// starts), 32 codes (i8). scale = largest magnitude / 127; code = value * (1 / scale), ties to even;
// all zero when the largest magnitude is zero.
inline constexpr uint32_t kActivationLength = 32;
inline constexpr uint32_t kActivationBytes = 44;
inline constexpr uint32_t kActivationScaledSumOffset = 4;
inline constexpr uint32_t kActivationStartOffset = 8;
inline constexpr int32_t kActivationStartZero = 128;
inline constexpr uint32_t kActivationCodeOffset = 12;
inline constexpr std::string_view kActivationName = "Q8A";

} // namespace sinter
