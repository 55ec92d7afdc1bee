// The activation formats by name and by what weights need, and their rounding.
#include "numeric/activation_format.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#pragma clang fp contract(off)

namespace sinter {

static constexpr ActivationFormat kFormats[] = {kQ8a,   kQ8a64,     kQ8a256,
                                                kQ8a16, kQ8a16By64, kQ8a16By256};

std::span<const ActivationFormat> activationFormats() {
  return kFormats;
}

const ActivationFormat *findActivationFormat(std::string_view name) {
  auto *found = std::ranges::find(kFormats, name, &ActivationFormat::name);
  return found != std::end(kFormats) ? found : nullptr;
}

const ActivationFormat &activationFormatFor(uint32_t groupLength, uint64_t length) {
  const ActivationFormat *best = nullptr;
  for (const ActivationFormat &format : kFormats)
    if (format.partLength == std::min(groupLength, kActivationLength) &&
        length % format.scaleLength == 0 && (!best || format.scaleLength > best->scaleLength))
      best = &format;
  SINTER_CHECK(best);
  return *best;
}

float activationScale(const uint8_t *block) {
  float scale;
  std::memcpy(&scale, block, sizeof scale);
  return scale;
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

static void quantizeBlock(const ActivationFormat &format, std::span<const float> values,
                          float scale, float inverse, std::span<uint8_t> block) {
  std::array<int8_t, kActivationLength> codes{};
  for (uint32_t i = 0; i < kActivationLength; ++i) {
    float code = std::nearbyint(values[i] * inverse);
    if (!std::isnan(code))
      codes[i] = static_cast<int8_t>(code);
  }
  put(block, 0, scale);
  for (uint32_t length : {kActivationLength, format.partLength})
    for (uint32_t part = 0; part < kActivationLength / length; ++part) {
      auto first = codes.begin() + part * length;
      int32_t sum = std::accumulate(first, first + length, 0);
      put(block, format.sumOffset(length, part), static_cast<float>(sum));
      put(block, format.startOffset(length, part), -kActivationStartZero * sum);
    }
  std::memcpy(block.data() + format.codeOffset(), codes.data(), codes.size());
}

void quantizeActivation(const ActivationFormat &format, std::span<const float> values,
                        std::span<uint8_t> blocks) {
  const uint32_t count = format.scaleLength / kActivationLength;
  SINTER_CHECK(values.size() == format.scaleLength && blocks.size() == count * format.bytes());
  float most = largestMagnitude(values), scale = most / 127;
  float factor = 127 / most, inverse = std::isinf(factor) ? 0 : factor;
  for (uint32_t block = 0; block < count; ++block)
    quantizeBlock(format, values.subspan(block * kActivationLength, kActivationLength), scale,
                  inverse, blocks.subspan(block * format.bytes(), format.bytes()));
}

} // namespace sinter
