// How block-scaled weights are laid out for integer dot instructions: derived from the format
// table, read by packing recipes, generated kernels and the interpreter alike.
#pragma once

#include "base/status.h"
#include "numeric/formats/activation_format.h"
#include "numeric/formats/block_format.h"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace sinter {

// Rows whose blocks are stored side by side, unit by unit.
inline constexpr uint32_t kInterleavedRows = 16;

// A stretch of a block whose units (of `unitBytes`) interleave row by row; each byte is XORed with
// `xorByte`, and units of four bytes turn their items (see turnItems). Units of several fields lie
// in turns where `step` is more than `unitBytes`.
struct PackedField {
  uint32_t offset = 0; // in the file's block
  uint32_t bytes = 0;
  uint32_t unitBytes = 0;
  uint8_t xorByte = 0;
  uint8_t itemBits = 8;
  uint32_t place = 0; // bytes of a row before its first unit in the packed block
  uint32_t step = 0;  // bytes of a row from one unit to the next

  uint32_t units() const { return bytes / unitBytes; }
  uint32_t placeOf(uint32_t unit) const { return place + unit * step; }
};

// Puts item j of `itemBits` (1, 2, 4 or 8) bits of a word at byte j % 4, from bit j / 4 * itemBits
// on, so that four neighbours lie in four bytes; and back.
uint32_t turnItems(uint32_t word, uint8_t itemBits);
uint32_t turnItemsBack(uint32_t word, uint8_t itemBits);

// Bits of four neighbouring codes: those from `shift` on of the four bytes of one packed unit,
// which become bits from `to` on of the codes.
struct CodePart {
  uint32_t byte = 0; // of the unit, in the packed block
  uint8_t shift = 0;
  uint8_t width = 0;
  uint8_t to = 0;
};

// Four neighbouring elements of a block.
struct CodeGroup {
  std::array<CodePart, 2> parts{};
  uint8_t partCount = 0;

  std::span<const CodePart> used() const { return {parts.data(), partCount}; }
};

// A block format whose codes an unsigned-by-signed byte dot can read: number = T - zero, with T the
// code or an entry of `table`.
struct DotPacking {
  const BlockFormat *format = nullptr;
  std::vector<PackedField> fields; // each byte of a block once
  std::vector<CodeGroup> groups;   // blockLength / 4 of them
  std::vector<uint8_t> table;      // of 16 codes; empty where codes are numbers
  uint32_t groupLength = 0;        // elements of one exact integer dot, 16 or 32
  uint32_t sharedLength = 0;       // elements from a multiple of it on have bytes of their own
  int32_t zero = 0;

  // The field that holds byte `byte` of the file's block.
  const PackedField &fieldAt(uint32_t byte) const;
  // Where that byte of row `row` lies in the packed blocks of kInterleavedRows rows.
  uint32_t packedByte(uint32_t byte, uint32_t row) const;
};

// The least and the most number that codes stand for.
struct NumberRange {
  int32_t least = INT8_MIN, most = INT8_MAX;

  int32_t largest() const { return std::max(-least, most); } // magnitude
};
NumberRange numbersOf(const DotPacking &packing);

// Elements that one exact integer dot covers: 16 or 32.
uint32_t dotGroupLength(const BlockFormat &format);

// Unsupported, in one sentence, where a format's codes do not lie so (signs, tables of several
// lanes, zero points that change).
Result<DotPacking> dotPacking(const BlockFormat &format);

// As dotPacking, but Unsupported too unless codes lie in one plane, without a table, and a block is
// kActivationLength elements of one F16 scale (and minimum).
Result<DotPacking> plainDotPacking(const BlockFormat &format);

} // namespace sinter
