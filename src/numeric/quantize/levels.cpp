// Reads levels off the format table.
#include "numeric/quantize/levels.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sinter {
namespace {

// Wider codes are numbers of their own rather than levels.
constexpr uint32_t kWidestCode = 8;

std::optional<Levels> integers(const Field &field) {
  if (field.width() > kWidestCode)
    return std::nullopt;
  Levels levels;
  levels.count = 1u << field.width();
  if (field.number == Number::Unsigned)
    return levels;
  if (field.number != Number::Signed)
    return std::nullopt;
  levels.firstCode = 1 - static_cast<int32_t>(levels.count / 2);
  levels.first = static_cast<float>(levels.firstCode);
  --levels.count;
  return levels;
}

// Of codes that read the same, the first.
std::optional<Levels> ofTable(const CodeTable &table, float zero) {
  if (table.lanes != 1 || table.count > Levels::kMostInTable)
    return std::nullopt;
  std::vector<uint8_t> order;
  for (uint32_t code = 0; code < table.count; ++code)
    order.push_back(static_cast<uint8_t>(code));
  const auto valueOf = [&](uint8_t code) { return table.values[code]; };
  std::ranges::sort(order, {}, [&](uint8_t code) { return std::pair(valueOf(code), code); });
  const auto repeats = std::ranges::unique(order, {}, valueOf);
  order.erase(repeats.begin(), repeats.end());
  Levels levels;
  levels.even = false;
  levels.count = static_cast<uint32_t>(order.size());
  for (uint32_t i = 0; i < levels.count; ++i) {
    levels.codes[i] = order[i];
    levels.table[i] = static_cast<float>(valueOf(order[i])) - zero;
  }
  return levels;
}

} // namespace

uint32_t Levels::nearest(float value) const {
  if (even) {
    const float index = std::nearbyint((value - first) / step);
    if (!(index > 0))
      return 0;
    return index < static_cast<float>(count - 1) ? static_cast<uint32_t>(index) : count - 1;
  }
  uint32_t i = 0;
  while (i + 1 < count && value > (table[i] + table[i + 1]) / 2)
    ++i;
  return i;
}

std::optional<Levels> codeLevels(const BlockFormat &format) {
  if (format.sign.present() || format.zero.field.present())
    return std::nullopt;
  if (format.table.present())
    return ofTable(format.table, format.zero.base);
  auto levels = integers(format.code);
  if (levels)
    levels->first -= format.zero.base;
  return levels;
}

std::optional<Levels> factorLevels(const GroupFactor &factor) {
  Levels levels;
  levels.first = factor.offset;
  if (!factor.level2Length)
    return levels;
  auto inner = integers(factor.level2);
  if (!inner || !(factor.step > 0))
    return std::nullopt;
  inner->step = factor.step;
  inner->first = factor.offset + factor.step * inner->first;
  return inner;
}

} // namespace sinter
