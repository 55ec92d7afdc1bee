// Buckets by the seven bits behind a number's first.
#include "cli/load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sinter::cli {
namespace {

constexpr double kMicroseconds = 1e6;
constexpr int kBits = 7;
constexpr uint64_t kPerPower = uint64_t{1} << kBits;
constexpr double kMostSeconds = 1e9; // far beyond any timeout

size_t bucketOf(uint64_t micros) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(micros)) - kBits - 1);
  return static_cast<size_t>(shift) * kPerPower + static_cast<size_t>(micros >> shift);
}

// The middle of a bucket, in seconds.
double valueOf(size_t bucket) {
  const size_t shift = bucket < 2 * kPerPower ? 0 : bucket / kPerPower - 1;
  const double first = static_cast<double>(bucket - shift * kPerPower);
  return std::ldexp(first + (shift > 0 ? 0.5 : 0), static_cast<int>(shift)) / kMicroseconds;
}

} // namespace

void LatencyHistogram::add(double seconds) {
  seconds = std::clamp(seconds, 0.0, kMostSeconds);
  const size_t bucket = bucketOf(static_cast<uint64_t>(std::llround(seconds * kMicroseconds)));
  if (bucket >= buckets_.size())
    buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  least_ = count_ ? std::min(least_, seconds) : seconds;
  most_ = std::max(most_, seconds);
  sum_ += seconds;
  ++count_;
}

double LatencyHistogram::quantile(double share) const {
  const auto wanted =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_))));
  uint64_t before = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    before += buckets_[bucket];
    if (before >= wanted)
      return std::clamp(valueOf(bucket), least_, most_);
  }
  return most_;
}

} // namespace sinter::cli
