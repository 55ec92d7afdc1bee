// Every tensor type of GGUF as data: where the codes, scales and minima of a block lie, and how an
// element's value follows from them. Decoders, quantisers, packers and generated kernels all read
// this one table.
//
// The value of element e of a block, each operation rounded to f32 on its own (never fused):
//
//   T     = table ? table[code * lanes + lane] : number(code)     (code, lane) = codeOf(e); negated
//   if e's sign is set value = scale(e) * (T - zero(e)) - min(e)
//
// where scale, zero and min are left out where the format has none. `min` may be stored negated
// (step, offset < 0). Bits of a block are numbered little-endian: bit b is bit b % 8 of byte b / 8.
#pragma once

#include "base/status.h"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sinter {

// GGUF's numbers for its tensor types.
enum class TensorType : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q8_1 = 9,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  Q8_K = 15,
  IQ2_XXS = 16,
  IQ2_XS = 17,
  IQ3_XXS = 18,
  IQ1_S = 19,
  IQ4_NL = 20,
  IQ3_S = 21,
  IQ2_S = 22,
  IQ4_XS = 23,
  I8 = 24,
  I16 = 25,
  I32 = 26,
  I64 = 27,
  F64 = 28,
  IQ1_M = 29,
  BF16 = 30,
  TQ1_0 = 34,
  TQ2_0 = 35,
  MXFP4 = 39,
  NVFP4 = 40,
  Q1_0 = 41,
  Q2_0 = 42,
  FP8 = 0x10000, // none of GGUF's: of the KV cache alone
};

// The first bit of item i of a plane: base + the sum of weight[k] over the bits k set in i. Weights
// of one plane never carry into each other, so the map is linear over GF(2) too.
struct BitMap {
  uint32_t base = 0;                // bits from the start of the block
  std::array<uint16_t, 8> weight{}; // bits

  constexpr uint32_t bit(uint32_t index) const {
    uint32_t at = base;
    for (uint32_t k = 0; k < weight.size(); ++k)
      at += (index >> k & 1) * weight[k];
    return at;
  }
  constexpr uint32_t byte(uint32_t index) const { return bit(index) / 8; }
  constexpr uint32_t shift(uint32_t index) const { return bit(index) % 8; }
};

// `width` consecutive bits per item, which become bits [shift, shift + width) of the item's raw
// value. In the planes of the IQ types an item may straddle bytes; in all others it lies within one
// byte or fills whole bytes.
struct BitPlane {
  BitMap map;
  uint8_t width = 0;
  uint8_t shift = 0;
};

// How a raw value reads as a number.
enum class Number : uint8_t {
  Unsigned,
  Signed, // two's complement over the field's width
  F16,
  BF16,
  F32,
  F64,
  E8m0Half, // 2^(raw - 128), without a NaN: half of what E8M0 says, for tables of doubled E2M1
            // values
  Ue4m3,    // E4M3 without a sign; 0x7f reads as 0 and 0xff as 480
  E4m3,     // numeric/half.h; 0x7f and 0xff are NaN
};

// An array of numbers spread over bit planes: codes, scales, minima or signs.
struct Field {
  std::array<BitPlane, 4> planes{};
  uint8_t planeCount = 0; // 0: the format has no such field
  Number number = Number::Unsigned;

  constexpr bool present() const { return planeCount != 0; }
  constexpr uint32_t width() const {
    uint32_t bits = 0;
    for (uint32_t p = 0; p < planeCount; ++p)
      bits += planes[p].width;
    return bits;
  }
  constexpr std::span<const BitPlane> used() const { return {planes.data(), planeCount}; }

  // Item `index` of the block as raw bits, and as a number (f32, rounded to nearest where it does
  // not fit).
  uint64_t raw(const uint8_t *block, uint32_t index) const;
  float value(const uint8_t *block, uint32_t index) const;
  // Writes the low width() bits of `raw`, over zero bits.
  void store(uint8_t *block, uint32_t index, uint64_t raw) const;
};

// A scale or a minimum: level1[e / level1Length] * (step * level2[e / level2Length] + offset),
// exact in f32 for finite level-1 values. Without a level 2 it is level1[...] * offset.
struct GroupFactor {
  Field level1{};
  Field level2{};
  uint16_t level1Length = 0; // elements that share one level-1 number
  uint16_t level2Length = 0; // elements that share one level-2 number; 0: no level 2
  float step = 0;
  float offset = 1;

  constexpr bool present() const { return level1.present(); }
  // Elements that share one value of this factor.
  constexpr uint32_t groupLength() const { return level2Length ? level2Length : level1Length; }
  float value(const uint8_t *block, uint32_t element) const;
};

// What is taken from a code before scaling: base + step * field[e / groupLength]; a constant where
// there is no field.
struct ZeroPoint {
  float base = 0;
  float step = 0;
  Field field{};
  uint16_t groupLength = 0;

  float value(const uint8_t *block, uint32_t element) const;
};

// Elements [firstElement, next run's) take `codes` codes from firstCode, each giving `lanes`
// elements: neighbours, or `codes` apart where `strided`.
struct CodeRun {
  uint16_t firstElement = 0;
  uint16_t firstCode = 0;
  uint16_t codes = 0;
  uint8_t lanes = 1;
  bool strided = false;
};

struct CodeAt {
  uint32_t code;
  uint32_t lane;
};

// values[code * lanes + lane].
struct CodeTable {
  const int8_t *values = nullptr;
  uint16_t count = 0; // codes
  uint8_t lanes = 0;

  constexpr bool present() const { return values != nullptr; }
};

// How numbers become blocks by rounding, where the format has such a rule.
enum class Rounding : uint8_t {
  None,          // storage only, or needs a search
  Convert,       // each element on its own
  SignedExtreme, // scale = the value of largest magnitude / -zero; code = trunc(x / scale + zero +
                 // 1/2)
  MinMax,        // scale = (max - min) / largest code; code = trunc((x - min) / scale + 1/2)
  AbsMax,        // scale = largest magnitude / largest code; code = x / scale, ties away from zero
};

struct ByteRange {
  uint16_t offset = 0;
  uint16_t length = 0;
};

struct BlockFormat {
  TensorType type;
  std::string_view name; // as ggml spells it: "Q4_1"
  uint16_t blockLength;  // elements
  uint16_t blockBytes;
  Field code;
  std::array<CodeRun, 3> runs{};
  uint8_t runCount = 1;
  CodeTable table{};
  Field sign{}; // one item per signLanes elements, one bit per element; a 7-bit item's parity is
                // the 8th bit
  ZeroPoint zero{};
  GroupFactor scale{};
  GroupFactor min{};
  ByteRange derived{}; // bytes that repeat what the codes say (sums); not read
  Rounding rounding = Rounding::None;

  // Elements of one sign item.
  static constexpr uint32_t kSignLanes = 8;

  // Whether a block is one number as it stands, without scale, zero, minimum or table.
  constexpr bool isPlain() const { return !scale.present(); }
  // The code that element `element` of a block takes its value from, and its place among the code's
  // elements.
  CodeAt codeOf(uint32_t element) const;
  // Whether the element is negated after the table.
  bool negated(const uint8_t *block, uint32_t element) const;
  // T - zero(e) of the formula above.
  float number(const uint8_t *block, uint32_t element) const;
  // Bytes of a row; none where `elements` is not a whole number of blocks or the size overflows.
  std::optional<uint64_t> rowBytes(uint64_t elements) const;
};

// All of GGUF's formats, in ascending order of their type numbers. Lives as long as the program.
std::span<const BlockFormat> blockFormats();
// Formats that no file has and the KV cache may have.
std::span<const BlockFormat> cacheFormats();
// Of either.
const BlockFormat &blockFormat(TensorType type);
// Null where GGUF has no such type (or dropped it). Names are ggml's, upper case.
const BlockFormat *findBlockFormat(uint32_t ggufType);
const BlockFormat *findBlockFormat(std::string_view name);

// Dequantizes whole blocks. `out` must hold exactly the elements of `blocks`, which must be whole
// blocks (our own mistake otherwise). Integers and F64 round to the nearest f32. Bytes of any
// content are valid.
void dequantizeRow(const BlockFormat &format, std::span<const uint8_t> blocks,
                   std::span<float> out);

// Quantises by the format's rounding rule; bit for bit what ggml's reference does. `values` must be
// whole blocks and `out` exactly their bytes (our own mistake otherwise). Unsupported: the format
// has no such rule, or a block's scale or minimum lies beyond F16; InvalidArgument: a value is NaN
// or infinite (except where each element converts on its own).
Result<void> quantizeRow(const BlockFormat &format, std::span<const float> values,
                         std::span<uint8_t> out);

} // namespace sinter
