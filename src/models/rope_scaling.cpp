// The formulas of linear and YaRN scaling.
#include "tile/mlir_pch.h"

#include "models/rope_scaling.h"

#include <cmath>
#include <numbers>

namespace sinter::models {

// The pair, as a fraction, that turns so often within that many positions.
static double pairOfTurns(double turns, const RopeScaling &scaling, int64_t dims, double base) {
  const double wavelength = static_cast<double>(scaling.originalContext) / turns;
  return static_cast<double>(dims) * std::log(wavelength / (2 * std::numbers::pi)) /
         (2 * std::log(base));
}

static std::vector<float> yarnScales(const RopeScaling &scaling, int64_t dims, double base) {
  const double low = std::max(0.0, std::floor(pairOfTurns(scaling.fastTurns, scaling, dims, base)));
  const double high = std::min(static_cast<double>(dims - 1),
                               std::ceil(pairOfTurns(scaling.slowTurns, scaling, dims, base)));
  constexpr double kLeastRamp = 0.001; // pairs; llama.cpp's, where both ends are one pair
  std::vector<float> scales;
  for (int64_t i = 0; i < dims / 2; ++i) {
    const double slow = (static_cast<double>(i) - low) / std::max(kLeastRamp, high - low);
    const double share = std::clamp(slow, 0.0, 1.0);
    scales.push_back(static_cast<float>(share / scaling.factor + (1 - share)));
  }
  return scales;
}

std::vector<float> frequencyScales(const RopeScaling &scaling, int64_t dims, double base) {
  if (scaling.kind == RopeScaling::Kind::None || scaling.factor == 1)
    return {};
  if (scaling.kind == RopeScaling::Kind::Yarn)
    return yarnScales(scaling, dims, base);
  return std::vector<float>(static_cast<size_t>(dims / 2), static_cast<float>(1 / scaling.factor));
}

float rotationMagnitude(const RopeScaling &scaling) {
  const bool grows = scaling.kind == RopeScaling::Kind::Yarn && scaling.factor > 1;
  const auto magnitude = [&](double multiplier) {
    return grows ? 1 + 0.1 * multiplier * std::log(scaling.factor) : 1;
  };
  const double yarn = magnitude(1) / magnitude(scaling.logMultiplier);
  return static_cast<float>(yarn * scaling.attentionFactor);
}

} // namespace sinter::models
