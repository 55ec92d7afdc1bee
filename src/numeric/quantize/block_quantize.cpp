// Rounding numbers into blocks by the format table's rule. The order of operations is the formats'
// reference: codes come from the unrounded f32 scale, whose reciprocal is rounded once.
#include "base/check.h"
#include "numeric/formats/block_format.h"
#include "numeric/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#pragma clang fp contract(off)

namespace sinter {
namespace {

struct Affine {
  float scale = 0;
  float inverse = 0; // 0 for a zero scale
  float min = 0;
};

float inverseOf(float scale) {
  return scale == 0 ? 0.0f : 1.0f / scale;
}

float extremeOf(std::span<const float> values) {
  auto smaller = [](float a, float b) { return std::fabs(a) < std::fabs(b); };
  return *std::max_element(values.begin(), values.end(), smaller);
}

uint64_t largestCode(const BlockFormat &format) {
  uint32_t bits = format.code.width() - (format.code.number == Number::Signed);
  return (uint64_t{1} << bits) - 1;
}

Affine fit(const BlockFormat &format, std::span<const float> values) {
  Affine fitted;
  float top = static_cast<float>(largestCode(format));
  switch (format.rounding) {
  case Rounding::SignedExtreme:
    fitted.scale = extremeOf(values) / -format.zero.base;
    break;
  case Rounding::MinMax: {
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    fitted.min = *low;
    fitted.scale = (*high - *low) / top;
    break;
  }
  case Rounding::AbsMax:
    fitted.scale = std::fabs(extremeOf(values)) / top;
    break;
  case Rounding::None:
  case Rounding::Convert:
    SINTER_CHECK(false);
  }
  fitted.inverse = inverseOf(fitted.scale);
  return fitted;
}

// `value` without its fraction as an integer in [low, high]. The reciprocal of a subnormal scale
// may be infinite, and then so may `value`, or NaN.
int64_t saturated(float value, int64_t low, int64_t high) {
  if (!(value > static_cast<float>(low)))
    return low;
  return value < static_cast<float>(high) ? static_cast<int64_t>(value) : high;
}

int64_t codeFor(const BlockFormat &format, const Affine &fitted, float value) {
  int64_t top = static_cast<int64_t>(largestCode(format));
  switch (format.rounding) {
  case Rounding::SignedExtreme:
    return saturated(value * fitted.inverse + (format.zero.base + 0.5f), 0, top);
  case Rounding::MinMax:
    return saturated((value - fitted.min) * fitted.inverse + 0.5f, 0, top);
  case Rounding::AbsMax:
    return saturated(std::round(value * fitted.inverse), -top, top);
  case Rounding::None:
  case Rounding::Convert:
    break;
  }
  SINTER_CHECK(false);
}

Result<void> storeF16(const Field &field, float value, const char *what, uint8_t *block) {
  uint16_t half = f32ToF16(value);
  if ((half & 0x7fff) == 0x7c00)
    return fail(Code::Unsupported, std::string(what) + " " + std::to_string(value) +
                                       " of a block is beyond F16's largest, 65504");
  field.store(block, 0, half);
  return {};
}

Result<void> quantizeBlock(const BlockFormat &format, std::span<const float> values,
                           uint8_t *block) {
  std::fill_n(block, format.blockBytes, uint8_t{0});
  Affine fitted = fit(format, values);
  SINTER_TRY(storeF16(format.scale.level1, fitted.scale, "scale", block));
  if (format.min.present())
    SINTER_TRY(storeF16(format.min.level1, fitted.min, "minimum", block));
  for (uint32_t e = 0; e < format.blockLength; ++e)
    format.code.store(block, e, static_cast<uint64_t>(codeFor(format, fitted, values[e])));
  return {};
}

uint64_t converted(Number number, float value) {
  switch (number) {
  case Number::F16:
    return f32ToF16(value);
  case Number::BF16:
    return f32ToBf16(value);
  case Number::E4m3:
    return f32ToE4m3(value);
  default:
    return std::bit_cast<uint32_t>(value);
  }
}

void convertRow(const BlockFormat &format, std::span<const float> values, uint8_t *out) {
  for (size_t e = 0; e < values.size(); ++e) {
    const uint64_t raw = converted(format.code.number, values[e]);
    uint8_t *at = out + e * format.blockBytes;
    std::fill_n(at, format.blockBytes, uint8_t{0});
    format.code.store(at, 0, raw);
  }
}

} // namespace

Result<void> quantizeRow(const BlockFormat &format, std::span<const float> values,
                         std::span<uint8_t> out) {
  auto bytes = format.rowBytes(values.size());
  SINTER_CHECK(bytes && *bytes == out.size());
  if (format.rounding == Rounding::None)
    return fail(Code::Unsupported,
                "format " + std::string(format.name) + " has no round-to-nearest quantiser");
  if (format.rounding == Rounding::Convert) {
    convertRow(format, values, out.data());
    return {};
  }
  for (size_t e = 0; e < values.size(); ++e)
    if (!std::isfinite(values[e]))
      return fail(Code::InvalidArgument, "value " + std::to_string(e) + " of the row is " +
                                             std::to_string(values[e]) + ", expected a finite one");
  for (size_t b = 0; b < values.size() / format.blockLength; ++b)
    SINTER_TRY(quantizeBlock(format, values.subspan(b * format.blockLength, format.blockLength),
                             out.data() + b * format.blockBytes));
  return {};
}

} // namespace sinter
