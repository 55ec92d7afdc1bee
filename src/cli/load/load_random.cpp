// Distributions written out: those of the standard library differ between its implementations.
#include "cli/load/load_random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sinter::cli {
namespace {

constexpr int kWordBits = 32;

} // namespace

LoadRandom::LoadRandom(uint64_t seed, LoadPurpose purpose, uint64_t number)
    : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> kWordBits)},
      counter_{0, static_cast<uint32_t>(purpose), static_cast<uint32_t>(number),
               static_cast<uint32_t>(number >> kWordBits)} {}

double LoadRandom::uniform() {
  const std::array<uint32_t, 4> words = philox(counter_, key_);
  ++counter_[0];
  const uint64_t word = uint64_t{words[1]} << kWordBits | words[0];
  return static_cast<double>((word >> 11) + 1) * 0x1p-53;
}

uint32_t LoadRandom::below(uint32_t bound) {
  const auto drawn = static_cast<uint32_t>((1 - uniform()) * bound);
  return std::min(drawn, bound - 1);
}

// Box and Muller.
double LoadRandom::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", TOMS 2000.
double LoadRandom::gamma(double shape) {
  if (shape == 1)
    return -std::log(uniform());
  if (shape < 1)
    return gamma(shape + 1) * std::pow(uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), root = 1 + c * x, v = root * root * root;
    if (v > 0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return d * v;
  }
}

} // namespace sinter::cli
