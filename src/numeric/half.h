// Conversions between f32 and the small floating-point formats, on their bit patterns. Widening is
// exact; narrowing rounds to nearest, ties to even. Sources: IEEE 754 (f16), bfloat16, OCP 8-bit
// Floating Point 1.0 (E4M3, E5M2) and OCP Microscaling Formats 1.0 (E8M0).
#pragma once

#include <bit>
#include <cstdint>

namespace sinter {

namespace detail {

// value / 2^shift, ties to even; 0 < shift < 32.
constexpr uint32_t shiftRoundEven(uint32_t value, uint32_t shift) {
  uint32_t kept = value >> shift;
  uint32_t rest = value & ((1u << shift) - 1);
  uint32_t half = 1u << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

// 2^exponent as f32 for the exponents of normal numbers.
constexpr float powerOfTwo(int exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

// The finite magnitude `bits` (an f32 without its sign) in a format of `mantissa` stored bits and
// this exponent bias, as exponent and mantissa fields side by side. The exponent field may exceed
// the format's: the caller handles overflow.
constexpr uint32_t narrowMagnitude(uint32_t bits, int mantissa, int bias) {
  int exponent = static_cast<int>(bits >> 23) - 127;
  if (exponent >= 1 - bias) {
    uint32_t rebased = bits - (static_cast<uint32_t>(127 - bias) << 23);
    return shiftRoundEven(rebased, static_cast<uint32_t>(23 - mantissa));
  }
  int shift = 23 - mantissa + (1 - bias - exponent);
  if (shift > 24)
    return 0;
  return shiftRoundEven((bits & 0x7fffff) | 0x800000, static_cast<uint32_t>(shift));
}

// The finite value of exponent and mantissa fields side by side.
constexpr float widenMagnitude(uint32_t fields, int mantissa, int bias) {
  uint32_t exponent = fields >> mantissa;
  uint32_t fraction = fields & ((1u << mantissa) - 1);
  if (exponent == 0)
    return static_cast<float>(fraction) * powerOfTwo(1 - bias - mantissa);
  return std::bit_cast<float>(((exponent + 127u - static_cast<uint32_t>(bias)) << 23) |
                              (fraction << (23 - mantissa)));
}

constexpr float withSign(float magnitude, bool negative) {
  return negative ? -magnitude : magnitude;
}

constexpr uint32_t magnitudeBits(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7fffffff;
}
constexpr bool signBit(float value) {
  return std::bit_cast<uint32_t>(value) >> 31;
}

inline constexpr uint32_t kInfinityBits = 0x7f800000;

} // namespace detail

// NaN widens to a NaN with the same sign and leading payload bits.
constexpr float f16ToF32(uint16_t half) {
  uint32_t fields = half & 0x7fffu;
  if (fields >= 0x7c00)
    return std::bit_cast<float>((static_cast<uint32_t>(half & 0x8000) << 16) |
                                detail::kInfinityBits | ((fields & 0x3ff) << 13));
  return detail::withSign(detail::widenMagnitude(fields, 10, 15), half >> 15);
}

// Overflow gives infinity; NaN becomes a quiet NaN.
constexpr uint16_t f32ToF16(float value) {
  uint32_t bits = detail::magnitudeBits(value);
  uint32_t sign = detail::signBit(value) ? 0x8000 : 0;
  if (bits > detail::kInfinityBits)
    return static_cast<uint16_t>(sign | 0x7e00 | ((bits >> 13) & 0x3ff));
  if (bits == detail::kInfinityBits)
    return static_cast<uint16_t>(sign | 0x7c00);
  uint32_t fields = detail::narrowMagnitude(bits, 10, 15);
  return static_cast<uint16_t>(sign | (fields < 0x7c00 ? fields : 0x7c00));
}

constexpr float bf16ToF32(uint16_t brain) {
  return std::bit_cast<float>(static_cast<uint32_t>(brain) << 16);
}

// NaN becomes a quiet NaN with the same leading payload bits; subnormal numbers are kept.
constexpr uint16_t f32ToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (detail::magnitudeBits(value) > detail::kInfinityBits)
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// E4M3 (the variant without infinities): largest finite value 448, NaN 0x7f and 0xff.
constexpr float e4m3ToF32(uint8_t code) {
  uint32_t fields = code & 0x7fu;
  if (fields == 0x7f)
    return std::bit_cast<float>((static_cast<uint32_t>(code & 0x80) << 24) | 0x7fc00000);
  return detail::withSign(detail::widenMagnitude(fields, 3, 7), code >> 7);
}

// Saturates: everything beyond 448, infinity included, becomes 448 with its sign. NaN gives
// 0x7f, whatever its sign: processors differ in that.
constexpr uint8_t f32ToE4m3(float value) {
  uint32_t bits = detail::magnitudeBits(value);
  uint32_t sign = detail::signBit(value) ? 0x80 : 0;
  if (bits > detail::kInfinityBits)
    return 0x7f;
  uint32_t fields = bits == detail::kInfinityBits ? 0x7e : detail::narrowMagnitude(bits, 3, 7);
  return static_cast<uint8_t>(sign | (fields < 0x7e ? fields : 0x7e));
}

// E5M2: IEEE-like, with infinities; largest finite value 57344.
constexpr float e5m2ToF32(uint8_t code) {
  return f16ToF32(static_cast<uint16_t>(code << 8));
}

// Saturates: everything beyond 57344, infinity included, becomes 57344 with its sign. NaN becomes a
// quiet NaN.
constexpr uint8_t f32ToE5m2(float value) {
  uint32_t bits = detail::magnitudeBits(value);
  uint32_t sign = detail::signBit(value) ? 0x80 : 0;
  if (bits > detail::kInfinityBits)
    return static_cast<uint8_t>(sign | 0x7e);
  uint32_t fields = bits == detail::kInfinityBits ? 0x7b : detail::narrowMagnitude(bits, 2, 15);
  return static_cast<uint8_t>(sign | (fields < 0x7b ? fields : 0x7b));
}

// E8M0: 2^(code - 127), a bare exponent; 255 is NaN.
constexpr float e8m0ToF32(uint8_t code) {
  if (code == 0)
    return std::bit_cast<float>(0x00400000u);
  if (code == 255)
    return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 23);
}

// The nearest power of two, ties to the even exponent code, limited to 2^-127 .. 2^127; zero and
// negative values give the smallest. NaN gives 255.
constexpr uint8_t f32ToE8m0(float value) {
  uint32_t bits = detail::magnitudeBits(value);
  if (bits > detail::kInfinityBits)
    return 255;
  if (detail::signBit(value))
    return 0;
  if (bits < 0x00800000) // below 2^-126: the tie 1.5 * 2^-127 goes to the even code 0
    return bits > 0x00600000;
  uint32_t exponent = bits >> 23;
  uint32_t fraction = bits & 0x7fffff;
  exponent += fraction > 0x400000 || (fraction == 0x400000 && (exponent & 1));
  return static_cast<uint8_t>(exponent < 254 ? exponent : 254);
}

// UE4M3: E4M3 without a sign; bit 7 is ignored and 0x7f is NaN.
constexpr float ue4m3ToF32(uint8_t code) {
  return e4m3ToF32(code & 0x7f);
}

// Saturates at 448; zero and negative values give zero. NaN gives 0x7f.
constexpr uint8_t f32ToUe4m3(float value) {
  if (detail::magnitudeBits(value) > detail::kInfinityBits)
    return 0x7f;
  return detail::signBit(value) ? 0 : f32ToE4m3(value);
}

} // namespace sinter
