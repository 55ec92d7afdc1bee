// The activation formats by name and by what weights need, and how values become blocks.
#include "numeric/formats/activation_format.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#pragma clang fp contract(off)

namespace sinter {

static constexpr ActivationFormat kFormats[] = {kQ8a, kQ8a256, kQ8a16, kQ8a16By256};

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

template <typename Number> static Number numberAt(const uint8_t *block, uint32_t offset) {
  Number number;
  std::memcpy(&number, block + offset, sizeof number);
  return number;
}

float activationScale(const ActivationFormat &, const uint8_t *block) {
  return numberAt<float>(block, 0);
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
  float scale, factor; // a code is the value times `factor`, rounded
};
} // namespace

static Rounding roundingTo(float largestCode, float most) {
  const float factor = largestCode / most;
  return {most / largestCode, std::isinf(factor) ? 0 : factor};
}

// Of the errors, in the order that the header says.
static float sumOfSquares(std::span<const float> values, float factor) {
  std::array<float, kActivationLength> squares{};
  for (size_t at = 0; at < values.size(); ++at) {
    const float scaled = values[at] * factor, error = scaled - std::nearbyint(scaled);
    float &sum = squares[at % kActivationLength];
    sum = at < kActivationLength ? error * error : sum + error * error;
  }
  for (uint32_t half = kActivationLength / 2; half > 0; half /= 2)
    for (uint32_t i = 0; i < half; ++i)
      squares[i] += squares[i + half];
  return squares[0];
}

static Rounding bestRounding(std::span<const float> values) {
  const float most = largestMagnitude(values);
  const Rounding fine = roundingTo(kLargestCode, most),
                 coarse = roundingTo(kSecondLargestCode, most);
  const float ofCoarse = sumOfSquares(values, coarse.factor),
              ofFine = sumOfSquares(values, fine.factor);
  return ofCoarse < ofFine * kSquaredSteps ? coarse : fine;
}

static void quantizeBlock(const ActivationFormat &format, std::span<const float> values,
                          const Rounding &by, std::span<uint8_t> block) {
  std::array<int8_t, kActivationLength> codes{};
  for (uint32_t i = 0; i < kActivationLength; ++i) {
    float code = std::nearbyint(values[i] * by.factor);
    if (!std::isnan(code))
      codes[i] = static_cast<int8_t>(code);
  }
  put(block, 0, by.scale);
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
  const Rounding by = bestRounding(values);
  for (uint32_t block = 0; block < count; ++block)
    quantizeBlock(format, values.subspan(block * kActivationLength, kActivationLength), by,
                  blocks.subspan(block * format.bytes(), format.bytes()));
}

} // namespace sinter
