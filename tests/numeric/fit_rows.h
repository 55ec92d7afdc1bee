// Rows of pseudo-random values, the same everywhere, for tests of quantising.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace sinter {

class RowSource {
public:
  explicit RowSource(uint64_t seed) : state_(seed) {}

  // Within [0, 1).
  float uniform() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(state_ >> 40) / static_cast<float>(1 << 24);
  }
  // The sum of twelve, of variance 1.
  float gaussian() {
    float sum = -6;
    for (int i = 0; i < 12; ++i)
      sum += uniform();
    return sum;
  }
  // A Gaussian over a root: Student's tails, most of 10 standard deviations and beyond.
  float heavyTailed() { return gaussian() / std::sqrt(uniform() + 0.01f); }

private:
  uint64_t state_;
};

enum class RowKind { Gaussian, HeavyTails, Positive, Constant, Zero, Outlier, Tiny, Huge };

inline std::vector<float> makeRow(RowKind kind, size_t count, uint64_t seed = 1) {
  RowSource source(seed);
  std::vector<float> row(count);
  for (float &value : row) {
    value = source.gaussian() * 0.02f;
    if (kind == RowKind::HeavyTails)
      value = source.heavyTailed() * 0.02f;
    if (kind == RowKind::Positive)
      value = 0.1f + std::fabs(value);
    if (kind == RowKind::Constant)
      value = -0.37f;
    if (kind == RowKind::Zero)
      value = 0;
    if (kind == RowKind::Tiny)
      value *= 1e-6f;
    if (kind == RowKind::Huge)
      value *= 2e5f;
  }
  if (kind == RowKind::Outlier)
    row[count / 3] = 3;
  return row;
}

} // namespace sinter
