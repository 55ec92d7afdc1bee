// Contents of views of block formats: random rows quantised by the format's rule, packed where the
// view is.
#pragma once

#include "numeric/formats/word_packing.h"
#include "targets/launch.h"

namespace sinter::targets::cpu {

using Random = std::mt19937_64;

// Replaces the bits of item `index` of a field.
inline void setRaw(const Field &field, uint8_t *block, uint32_t index, uint64_t raw) {
  for (const BitPlane &plane : field.used())
    for (uint32_t k = 0; k < plane.width; ++k) {
      uint32_t bit = plane.map.bit(index) + k;
      auto mask = static_cast<uint8_t>(1u << bit % 8);
      bool on = raw >> (plane.shift + k) & 1;
      block[bit / 8] = static_cast<uint8_t>(on ? block[bit / 8] | mask : block[bit / 8] & ~mask);
    }
}

// Any bits are a block of a format without a rule of rounding; outer factors of a usual size.
inline void fillAnyBlock(const BlockFormat &format, std::span<uint8_t> block, Random &random) {
  for (uint8_t &byte : block)
    byte = static_cast<uint8_t>(random());
  for (const GroupFactor *factor : {&format.scale, &format.min})
    for (uint32_t e = 0; factor->present() && e < format.blockLength; e += factor->level1Length) {
      float value = 0.01f + static_cast<float>(random() % 64) / 1024;
      uint64_t raw = factor->level1.number == Number::F16   ? f32ToF16(value)
                     : factor->level1.number == Number::F32 ? std::bit_cast<uint32_t>(value)
                                                            : 0x70 + random() % 15;
      setRaw(factor->level1, block.data(), e / factor->level1Length, raw);
    }
}

// Signs that blocks of extreme numbers share, so that sums of their products grow as large as any.
inline bool isNegative(uint32_t element) {
  return 0x2d9a653cu >> element % 32 & 1;
}

// Codes of the least and the most number; the scales stay.
inline void setExtremeCodes(const BlockFormat &format, uint8_t *block, bool turned) {
  const uint64_t all = (uint64_t{1} << format.code.width()) - 1;
  const uint64_t least = format.code.number == Number::Signed ? all / 2 + 1 : 0;
  for (uint32_t e = 0; e < format.blockLength; ++e)
    setRaw(format.code, block, e, isNegative(e) != turned ? least : all - least);
}

// What makes a scale NaN, infinite, zero, subnormal or large.
inline constexpr float kSpecialScales[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-41f, 3e38f};

// Activations of a special scale.
inline void setSpecial(std::span<float> values, Random &random) {
  const float scale = kSpecialScales[random() % std::size(kSpecialScales)];
  if (!std::isfinite(scale))
    values[random() % values.size()] = scale;
  else
    for (float &value : values)
      value *= scale;
}

// Blocks in row-major order, one in four of extreme numbers. With `specials` one block in five has
// a special scale; any bytes are a valid block of the format table.
inline std::vector<uint8_t> randomBlocks(mlir::Type element, int64_t blocks, bool specials,
                                         Random &random) {
  const BlockFormat *format = tile::blockFormatOf(element);
  const ActivationFormat *activation = tile::activationFormatOf(element);
  int64_t length = format ? format->blockLength : activation->scaleLength;
  int64_t size =
      format ? format->blockBytes : int64_t(length / kActivationLength) * activation->bytes();
  constexpr float kMost = 127; // the largest code of a scale of 1
  std::normal_distribution<float> normal;
  std::vector<float> values(length);
  std::vector<uint8_t> bytes(blocks * size);
  for (int64_t b = 0; b < blocks; ++b) {
    uint8_t *to = bytes.data() + b * size;
    const bool extreme = random() % 4 == 0, turned = random() % 2 != 0;
    for (auto [e, value] : llvm::enumerate(values)) {
      value = normal(random);
      if (extreme && activation)
        value = isNegative(static_cast<uint32_t>(e)) != turned ? -kMost : kMost;
    }
    const bool special = specials && random() % 5 == 0;
    if (special && activation)
      setSpecial(values, random);
    if (format && format->rounding == Rounding::None)
      fillAnyBlock(*format, {to, static_cast<size_t>(size)}, random);
    else if (format)
      EXPECT_TRUE(quantizeRow(*format, values, {to, static_cast<size_t>(size)}).has_value());
    else
      quantizeActivation(*activation, values, {to, static_cast<size_t>(size)});
    if (extreme && format && dotPacking(*format))
      setExtremeCodes(*format, to, turned);
    if (special && format && format->scale.level1.number == Number::F16)
      setRaw(format->scale.level1, to, 0,
             f32ToF16(kSpecialScales[random() % std::size(kSpecialScales)]));
  }
  return bytes;
}

inline void turn(const PackedField &field, uint8_t *unit) {
  if (field.itemBits == 8)
    return;
  uint32_t word;
  std::memcpy(&word, unit, sizeof word);
  word = turnItems(word, field.itemBits);
  std::memcpy(unit, &word, sizeof word);
}

// Blocks of `rows` interleaved rows, unit by unit, as numeric/formats/word_packing.h says; rows
// beyond the last are zero bits.
inline std::vector<uint8_t> interleaveBlocks(const std::vector<uint8_t> &bytes,
                                             const BlockFormat &format,
                                             const std::vector<PackedField> &fields, int64_t rows,
                                             int64_t blocksPerRow) {
  int64_t size = format.blockBytes;
  int64_t count = static_cast<int64_t>(bytes.size()) / size / blocksPerRow;
  std::vector<uint8_t> packed(llvm::alignTo(count, rows) * blocksPerRow * size);
  for (int64_t row = 0; row < count; ++row)
    for (int64_t block = 0; block < blocksPerRow; ++block) {
      const uint8_t *from = bytes.data() + (row * blocksPerRow + block) * size;
      uint8_t *to = packed.data() + (row / rows * blocksPerRow + block) * size * rows;
      for (const PackedField &field : fields) {
        for (uint32_t unit = 0; unit < field.units(); ++unit) {
          uint8_t *into = to + field.placeOf(unit) * rows + row % rows * field.unitBytes;
          for (uint32_t byte = 0; byte < field.unitBytes; ++byte)
            into[byte] = from[field.offset + unit * field.unitBytes + byte] ^ field.xorByte;
          turn(field, into);
        }
      }
    }
  return packed;
}

// Fills a view of a block format, which has no gaps.
inline void fillBlocks(LaunchArgument &a, bool specials, Random &random) {
  mlir::Type element = a.view().getElementType();
  auto name = llvm::cast<tile::BlockType>(element).getFormat().upper();
  const BlockFormat *format = findBlockFormat(name);
  const ActivationFormat *activation = tile::activationFormatOf(element);
  int64_t length = format ? format->blockLength : activation->scaleLength, elements = 1;
  for (int64_t extent : a.shape)
    elements *= extent;
  EXPECT_EQ(a.shape.back() % length, 0) << "rows of '" << a.name << "' are no whole blocks";
  if (elements == 0)
    return;
  std::vector<uint8_t> bytes = randomBlocks(element, elements / length, specials, random);
  if (int64_t rows = a.view().getInterleave()) {
    auto fields = packedFields(*format, static_cast<uint32_t>(rows));
    ASSERT_TRUE(fields.has_value()) << fields.error().message;
    bytes = interleaveBlocks(bytes, *format, *fields, rows, a.shape[1] / length);
  }
  ASSERT_EQ(bytes.size(), a.bytes.size());
  a.bytes = std::move(bytes);
}

} // namespace sinter::targets::cpu
