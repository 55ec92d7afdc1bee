// The activation formats by name and by what weights need, and their rounding.
#include "numeric/activation_format.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#pragma clang fp contract(off)

namespace sinter {

static constexpr uint32_t kExponent = 0x7f800000;
static constexpr auto kFactorExponent = std::bit_cast<uint32_t>(shiftedFactor(0));

static constexpr ActivationFormat kFormats[] = {kQ8a,   kQ8a32,     kQ8a256,
                                                kQ8a16, kQ8a16By32, kQ8a16By256};

std::span<const ActivationFormat> activationFormats() {
  return kFormats;
}

const ActivationFormat *findActivationFormat(std::string_view name) {
  auto *found = std::ranges::find(kFormats, name, &ActivationFormat::name);
  return found != std::end(kFormats) ? found : nullptr;
}

const ActivationFormat &activationFormatFor(uint32_t groupLength, uint64_t length,
                                            Scales ofOneBlock) {
  const ActivationFormat *best = nullptr;
  for (const ActivationFormat &format : kFormats)
    if (format.partLength == std::min(groupLength, kActivationLength) &&
        length % format.scaleLength == 0 &&
        (format.scaleLength > kActivationLength || format.scales == ofOneBlock) &&
        (!best || format.scaleLength > best->scaleLength))
      best = &format;
  SINTER_CHECK(best);
  return *best;
}

template <typename Number> static Number numberAt(const uint8_t *block, uint32_t offset) {
  Number number;
  std::memcpy(&number, block + offset, sizeof number);
  return number;
}

SteppedScale steppedScale(const uint8_t *block) {
  return {numberAt<float>(block, 0),
          anchoredUnit(numberAt<float>(block, ActivationFormat::kAnchorOffset))};
}

float activationScale(const ActivationFormat &format, const uint8_t *block) {
  if (!format.isStepped())
    return numberAt<float>(block, 0);
  const SteppedScale scale = steppedScale(block);
  return scale.factor * scale.unit;
}

int8_t activationCode(const ActivationFormat &format, const uint8_t *block, uint32_t element) {
  return static_cast<int8_t>(block[format.codeOffset() + element]);
}

static float largestMagnitude(std::span<const float> values) {
  float most = 0;
  for (float value : values)
    most = std::isnan(value) || std::isnan(most) ? NAN : std::max(most, std::fabs(value));
  return most;
}

template <typename Number> static void put(std::span<uint8_t> block, uint32_t at, Number number) {
  std::memcpy(block.subspan(at, sizeof number).data(), &number, sizeof number);
}

namespace {
// Of a scale's elements.
struct Rounding {
  float scale, factor; // a code is the value times `factor`, no less than 0
};
} // namespace

static Rounding freeRounding(float most) {
  float factor = 127 / most;
  return {most / 127, std::isinf(factor) ? 0 : factor};
}

// The next step that is no less. What NaN holds is not carried beyond it.
static float steppedUp(float scale) {
  constexpr uint32_t kBelow = (1u << (23 - kScaleStepBits)) - 1, kNan = 0x7fc00000;
  return std::bit_cast<float>((std::min(std::bit_cast<uint32_t>(scale), kNan) + kBelow) & ~kBelow);
}

static Rounding steppedRounding(float most) {
  float scale = steppedUp(most * (1 / 127.0f));
  return scale < kLeastScale ? Rounding{0, 0} : Rounding{scale, 1 / scale};
}

static void quantizeBlock(const ActivationFormat &format, std::span<const float> values,
                          const Rounding &by, std::span<uint8_t> block) {
  std::array<int8_t, kActivationLength> codes{};
  for (uint32_t i = 0; i < kActivationLength; ++i) {
    float code = std::nearbyint(values[i] * by.factor);
    if (!std::isnan(code))
      codes[i] = static_cast<int8_t>(code);
  }
  const auto bits = std::bit_cast<uint32_t>(by.scale);
  const float anchor = std::bit_cast<float>(bits & kExponent) * kUnitAnchor;
  put(block, 0,
      format.isStepped() ? std::bit_cast<float>((bits & ~kExponent) | kFactorExponent) : by.scale);
  for (uint32_t length : {kActivationLength, format.partLength})
    for (uint32_t part = 0; part < kActivationLength / length; ++part) {
      auto first = codes.begin() + part * length;
      int32_t sum = std::accumulate(first, first + length, 0);
      put(block, format.sumOffset(length, part),
          static_cast<float>(sum) * (format.isStepped() ? by.scale : 1));
      put(block, format.startOffset(length, part),
          -kActivationStartZero * sum + (format.isStepped() ? std::bit_cast<int32_t>(anchor) : 0));
    }
  if (format.isStepped())
    put(block, ActivationFormat::kAnchorOffset, anchor);
  std::memcpy(block.data() + format.codeOffset(), codes.data(), codes.size());
}

void quantizeActivation(const ActivationFormat &format, std::span<const float> values,
                        std::span<uint8_t> blocks) {
  const uint32_t count = format.scaleLength / kActivationLength;
  SINTER_CHECK(values.size() == format.scaleLength && blocks.size() == count * format.bytes());
  float most = largestMagnitude(values);
  Rounding by = format.isStepped() ? steppedRounding(most) : freeRounding(most);
  for (uint32_t block = 0; block < count; ++block)
    quantizeBlock(format, values.subspan(block * kActivationLength, kActivationLength), by,
                  blocks.subspan(block * format.bytes(), format.bytes()));
}

} // namespace sinter
