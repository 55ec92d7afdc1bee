// Stepped scales of activations as their definition says them, apart from how they are found.
#pragma once

#include <cmath>

namespace sinter {

// The least 2^e * (1 + n / 8) that is no less.
inline float stepFrom(float scale) {
  int exponent;
  float mantissa = std::frexp(scale, &exponent); // in [0.5, 1)
  return std::ldexp(std::ceil(mantissa * 16) / 16, exponent);
}

} // namespace sinter
