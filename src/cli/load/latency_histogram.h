// Many durations in little memory: buckets whose width is 1/128 of their value, so that a
// percentile is within half a percent of the exact one.
#pragma once

#include <cstdint>
#include <vector>

namespace sinter::cli {

class LatencyHistogram {
public:
  // Seconds; negative ones count as 0.
  void add(double seconds);

  uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }
  double most() const { return most_; }
  // The least value with at least that share (0 to 1) of all at or below it; 0 where there is none.
  double quantile(double share) const;

private:
  std::vector<uint64_t> buckets_; // as many as the largest value needs
  uint64_t count_ = 0;
  double sum_ = 0, least_ = 0, most_ = 0;
};

} // namespace sinter::cli
