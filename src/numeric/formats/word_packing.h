// How weights of any block format are laid out for threads that dequantize them: words of four
// bytes in the file's order, row beside row. Derived from the format table, read by packing
// recipes, generated kernels and the interpreter alike.
#pragma once

#include "numeric/formats/dot_packing.h"

namespace sinter {

// Rows that are interleaved word by word: a word of each is what a quarter of a subgroup
// of 32 reads at once.
inline constexpr uint32_t kWordRows = 8;

// A block is words, but for the bytes that are left over: a scale at its begin or its end.
struct WordPacking {
  static constexpr uint32_t kWordBytes = 4;

  uint32_t first = 0; // byte of the block at which its words begin
  uint32_t words = 0;
  uint32_t alone = 0, aloneBytes = 0; // the bytes that are left over; none: 0

  bool inWords(uint32_t byte) const { return byte - first < words * kWordBytes; }
  // Where that byte of the group's first row lies in the packed blocks of kWordRows rows; the next
  // row's lies rowBytes(byte) bytes behind it.
  uint32_t packedByte(uint32_t byte) const;
  uint32_t rowBytes(uint32_t byte) const { return inWords(byte) ? kWordBytes : aloneBytes; }
};

WordPacking wordPacking(const BlockFormat &format);

// The fields that interleave the blocks of `rows` rows: for kInterleavedRows as dotPacking has
// it, for kWordRows as wordPacking has it. Unsupported for other numbers, and where a format has no
// such packing.
Result<std::vector<PackedField>> packedFields(const BlockFormat &format, uint32_t rows);

} // namespace sinter
