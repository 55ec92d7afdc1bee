// The scale and minimum that bring a group of values closest to a set of levels:
// value ~ scale * level - min, by least weighted squares. Codes and level-2 scales of every block
// format are fitted by this one search.
#pragma once

#include "numeric/quantize/levels.h"

#include <vector>

namespace sinter {

// Values and their weights, none of which is negative. Both are filled up with zeros to whole
// lanes.
class WeightedValues {
public:
  static constexpr size_t kLanes = 4;

  void clear();
  void add(float value, float weight);
  std::span<const float> values() const { return {values_.data(), count_}; }
  double weight() const { return weight_; } // of all
  // With the filling.
  size_t lanes() const { return values_.size(); }
  const float *valueLanes() const { return values_.data(); }
  const float *weightLanes() const { return weights_.data(); }

private:
  size_t count_ = 0;
  double weight_ = 0;
  std::vector<float> values_, weights_;
};

struct ScaleAndMin {
  float scale = 0;
  float min = 0;
};

// Weighted sums over a group whose elements have the nearest levels, with residual = value -
// (scale * level - min).
struct FitSums {
  double residual2 = 0; // residual * residual: the error
  double residualLevel = 0;
  double level2 = 0; // level * level
  double residual = 0;
  double level = 0;
  double weight = 0;

  // The sums in which every level stands for `byScale` of it and every minimum for `byMin`.
  FitSums times(double byScale, double byMin) const;
  FitSums &operator+=(const FitSums &other);
};

struct FitRule {
  bool hasMin = false;
  bool negativeMin = false;   // allowed
  bool negativeScale = false; // allowed
};

FitSums measure(const Levels &levels, const WeightedValues &group, ScaleAndMin at);
// The index of the level that measure() gives a value.
uint32_t nearestLevel(const Levels &levels, float value, ScaleAndMin at);

// The best scale and minimum for the levels that the elements have now, as far as the rule allows.
ScaleAndMin improved(const FitSums &sums, ScaleAndMin at, FitRule rule);

struct GroupFit {
  ScaleAndMin at;
  FitSums sums; // there
};

// Starts from scales at which the extreme value meets the last level, or lies some way inside or
// outside of it, and follows the best. Beside searches of 8,000 scales or 14,400 pairs on Gaussian
// groups, the root mean square error was larger by 0.1 % for 3 to 5 bits, 7 % for 8 bits (where
// any more scales tried find less), 3 % for E2M1 and 3 to 6 % with a minimum.
GroupFit fitGroup(const Levels &levels, const WeightedValues &group, FitRule rule);

} // namespace sinter
