// The numbers that a code of a block, or a level-2 scale of it, can stand for: evenly spaced ones
// or a short table, in ascending order.
#pragma once

#include "numeric/formats/block_format.h"

#include <array>

namespace sinter {

struct Levels {
  static constexpr uint32_t kMostInTable = 16;

  uint32_t count = 1;
  bool even = true; // first + i * step; otherwise table[i]
  float first = 0;
  float step = 1; // above 0
  std::array<float, kMostInTable> table{};
  std::array<uint8_t, kMostInTable> codes{}; // raw values of the table's entries
  int32_t firstCode = 0;                     // raw value of an even level i: firstCode + i

  float low() const { return at(0); }
  float high() const { return at(count - 1); }
  float at(uint32_t i) const { return even ? first + static_cast<float>(i) * step : table[i]; }
  uint64_t code(uint32_t i) const {
    return even ? static_cast<uint64_t>(int64_t{firstCode} + i) : codes[i];
  }
  // The index of a level that no other is closer to; NaN gives 0.
  uint32_t nearest(float value) const;
};

// What the table says before scaling: table entries or numbers, less the zero point's constant.
// None where codes stand for several elements, signs or zero points of groups lie beside them, or
// the numbers are no small integers. Signed codes leave out the one without an opposite, as every
// rounding rule does.
std::optional<Levels> codeLevels(const BlockFormat &format);

// What multiplies the level-1 number of a scale or minimum: offset + step * level 2, or the offset
// alone.
std::optional<Levels> factorLevels(const GroupFactor &factor);

} // namespace sinter
