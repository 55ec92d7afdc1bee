// Which formats have integer scales, derived from their rows of the table.
#include "numeric/formats/integer_scales.h"

#include "numeric/formats/dot_packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sinter {

static constexpr int32_t kLargestActivation = 127; // quantizeActivation makes no -128

static bool isWhole(float number) {
  return std::nearbyint(number) == number;
}

static bool areWholeNumbers(const Field &field) {
  return field.present() && (field.number == Number::Unsigned || field.number == Number::Signed);
}

// The largest magnitude of step * number + offset.
static float largestScale(const GroupFactor &scale) {
  const bool isSigned = scale.level2.number == Number::Signed;
  const float steps = static_cast<float>(1u << scale.level2.width());
  const float least = isSigned ? -steps / 2 : 0, most = isSigned ? steps / 2 - 1 : steps - 1;
  return std::max(std::fabs(scale.step * least + scale.offset),
                  std::fabs(scale.step * most + scale.offset));
}

static std::optional<IntegerScales> derived(const BlockFormat &format) {
  const GroupFactor &scale = format.scale;
  if (!scale.level2Length || scale.level1Length != format.blockLength ||
      !areWholeNumbers(scale.level2) || scale.level2.width() > 8 || !isWhole(scale.step) ||
      !isWhole(scale.offset))
    return std::nullopt;
  Result<DotPacking> packing = dotPacking(format);
  if (!packing)
    return std::nullopt;
  const uint32_t length = dotGroupLength(format);
  if (2 * length > kActivationLength)
    return std::nullopt;
  const double largest =
      static_cast<double>(numbersOf(*packing).largest()) * length * kLargestActivation;
  IntegerScales scales{.shift = 0};
  while (scales.shortened(static_cast<int32_t>(largest)) > std::numeric_limits<int16_t>::max())
    ++scales.shift;
  const double total = static_cast<double>(std::numeric_limits<int16_t>::max()) *
                       largestScale(scale) * (format.blockLength / length);
  const float numbers = largestScale(scale) * static_cast<float>(format.blockLength / length);
  bool fits =
      total < std::numeric_limits<int32_t>::max() && numbers <= std::numeric_limits<int16_t>::max();
  return fits ? std::optional(scales) : std::nullopt;
}

// Derived once for all formats: the interpreter asks for every block.
std::optional<IntegerScales> integerScales(const BlockFormat &format) {
  static const std::vector<std::optional<IntegerScales>> all = [] {
    std::vector<std::optional<IntegerScales>> scales;
    for (const BlockFormat &each : blockFormats())
      scales.push_back(derived(each));
    return scales;
  }();
  return all[static_cast<size_t>(&format - blockFormats().data())];
}

std::optional<IntegerScales> integerScales(const BlockFormat &format,
                                           const ActivationFormat &activation) {
  return activation.scaleLength == format.blockLength ? integerScales(format) : std::nullopt;
}

int32_t scaleNumber(const BlockFormat &format, const uint8_t *block, uint32_t element) {
  const GroupFactor &scale = format.scale;
  const float number = scale.level2.value(block, element / scale.level2Length);
  return static_cast<int32_t>(scale.step * number + scale.offset);
}

float TotalScale::of(int32_t total) const {
  return std::fma(static_cast<float>(total), scale, centre);
}

TotalScale totalScale(const BlockFormat &format, const uint8_t *block) {
  const IntegerScales integers = *integerScales(format);
  const float scale = format.scale.level1.value(block, 0) * integers.factor();
  if (!integers.shift)
    return {scale, 0};
  int32_t numbers = 0;
  for (uint32_t at = 0; at < format.blockLength; at += dotGroupLength(format))
    numbers += scaleNumber(format, block, at);
  return {scale, static_cast<float>(numbers) * (scale * integers.lost())};
}

} // namespace sinter
