// Passes over rows and candidates, in forms that compilers turn into vector code.
#include "llm/sampler/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace sinter {
namespace {

constexpr size_t kBlock = RowScan::kBlock;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float logitOf(int32_t order) {
  return std::bit_cast<float>(order ^ ((order >> 31) & 0x7fffffff));
}

// In a fixed order of lanes, since additions of floats do not commute in their rounding.
double sumOf(std::span<const float> values) {
  double lanes[4] = {};
  size_t i = 0;
  for (; i + 4 <= values.size(); i += 4)
    for (size_t lane = 0; lane < 4; ++lane)
      lanes[lane] += static_cast<double>(values[i + lane]);
  for (; i < values.size(); ++i)
    lanes[0] += static_cast<double>(values[i]);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

} // namespace

float expOfNegative(float x) {
#pragma clang fp contract(off)
  constexpr float kLeast = -86; // below, the result would not be a normal number
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRounder = 12582912; // 1.5 * 2^23: its last bit counts ones
  const float inRange = x > kLeast ? x : kLeast;
  const float rounded = inRange * kLog2E + kRounder;
  const float power = rounded - kRounder;
  const float r = (inRange - power * kLn2High) - power * kLn2Low;
  // The Taylor polynomial; its error at |r| <= ln 2 / 2 is 2^-27.
  float sum = 1.0f / 5040;
  for (const float term : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    sum = sum * r + term;
  const int32_t exponent = std::bit_cast<int32_t>(rounded) - std::bit_cast<int32_t>(kRounder);
  const float scaled = sum * std::bit_cast<float>((exponent + 127) << 23);
  return x > kLeast ? scaled : 0.0f;
}

void RowScan::scan(std::span<const float> row) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const int32_t above = orderOf(kInfinity), below = orderOf(-kInfinity);
  top = std::numeric_limits<int32_t>::min();
  bottom = kMost;
  blockTops.resize((row.size() + kBlock - 1) / kBlock);
  for (size_t block = 0; block < blockTops.size(); ++block) {
    const auto part = row.subspan(block * kBlock, std::min(kBlock, row.size() - block * kBlock));
    int32_t most = std::numeric_limits<int32_t>::min(), least = kMost;
    for (const float logit : part) {
      const int32_t order = orderOf(logit);
      most = std::max(most, order);
      least = std::min(least, order);
    }
    blockTops[block] = most;
    top = std::max(top, most);
    bottom = std::min(bottom, least);
  }
  hasNan = !row.empty() && (top > above || bottom < below);
}

int32_t RowScan::floorOfTop(size_t k) {
  if (k > blockTops.size())
    return std::numeric_limits<int32_t>::min();
  sorted_ = blockTops;
  const auto nth = sorted_.begin() + static_cast<ptrdiff_t>(k - 1);
  std::nth_element(sorted_.begin(), nth, sorted_.end(), std::greater<>());
  return *nth;
}

int32_t RowScan::floorOfRatio(int32_t top, double ratio) {
  const double least = static_cast<double>(logitOf(top)) + std::log(ratio);
  return orderOf(static_cast<float>(least)) - 1; // rounding may have gone up
}

void Candidates::reserve(size_t count) {
  if (ids_.size() >= count)
    return;
  ids_.resize(count);
  logits_.resize(count);
  weights_.resize(count);
}

void Candidates::gatherAll(std::span<const float> row) {
  count_ = row.size();
  std::iota(ids_.begin(), ids_.begin() + static_cast<ptrdiff_t>(count_), TokenId{0});
  std::copy(row.begin(), row.end(), logits_.begin());
}

void Candidates::gather(std::span<const float> row, const RowScan &scan, int32_t floor) {
  reserve(row.size());
  count_ = 0;
  weighed_ = false;
  const bool infinite = scan.top == orderOf(kInfinity);
  const int32_t least = infinite ? scan.top : std::max(floor, orderOf(-kInfinity) + 1);
  if (scan.bottom >= least && !infinite)
    return gatherAll(row);
  for (size_t block = 0; block < scan.blockTops.size(); ++block) {
    if (scan.blockTops[block] < least)
      continue;
    for (size_t i = block * kBlock; i < std::min(row.size(), (block + 1) * kBlock); ++i) {
      ids_[count_] = static_cast<TokenId>(i);
      logits_[count_] = row[i];
      count_ += orderOf(row[i]) >= least;
    }
  }
  if (infinite)
    std::fill_n(logits_.begin(), count_, 0.0f);
}

void Candidates::take(std::span<const TokenId> tokens, std::span<const float> logits) {
  reserve(tokens.size());
  count_ = tokens.size();
  weighed_ = false;
  std::ranges::copy(tokens, ids_.begin());
  std::ranges::copy(logits, logits_.begin());
}

float Candidates::topLogit() const {
  int32_t best = orderOf(-kInfinity);
  for (const float logit : logits())
    best = std::max(best, orderOf(logit));
  return logitOf(best);
}

void Candidates::keepFrom(const std::vector<float> &values, double least) {
  // The float for which float comparisons say what comparisons with `least` would.
  float bound = static_cast<float>(least);
  if (static_cast<double>(bound) < least)
    bound = std::nextafter(bound, kInfinity);
  size_t kept = 0;
  for (size_t first = 0; first < count_; first += kBlock) {
    const size_t end = std::min(count_, first + kBlock);
    int any = 0;
    for (size_t i = first; i < end; ++i)
      any |= values[i] >= bound;
    for (size_t i = first; any && i < end; ++i)
      kept += moved(i, kept, values[i] >= bound);
  }
  count_ = kept;
}

double Candidates::weigh() {
  if (!weighed_) {
    const float top = topLogit();
    for (size_t i = 0; i < count_; ++i)
      weights_[i] = expOfNegative(logits_[i] - top);
    weighed_ = true;
  }
  blockSums_.clear();
  double sum = 0;
  for (size_t first = 0; first < count_; first += kBlock) {
    blockSums_.push_back(sumOf(weights().subspan(first, std::min(kBlock, count_ - first))));
    sum += blockSums_.back();
  }
  return sum_ = sum;
}

void Candidates::divide(double temperature) {
  const float top = topLogit();
  // The smallest of floats in place of what no float holds: 0 / 0 is not a number.
  const float divisor =
      std::max(static_cast<float>(temperature), std::numeric_limits<float>::min());
  for (size_t i = 0; i < count_; ++i)
    logits_[i] = (logits_[i] - top) / divisor;
  weighed_ = false;
}

size_t Candidates::draw(double uniform) const {
  double left = uniform * sum_;
  size_t block = 0;
  for (size_t i = 0; i < blockSums_.size(); ++i) {
    if (blockSums_[i] <= 0)
      continue;
    block = i;
    if (left < blockSums_[i])
      break;
    left -= blockSums_[i];
  }
  size_t chosen = block * kBlock;
  for (size_t i = chosen; i < std::min(count_, (block + 1) * kBlock); ++i) {
    if (weights_[i] <= 0)
      continue;
    chosen = i;
    if (left < weights_[i])
      break;
    left -= weights_[i];
  }
  return chosen;
}

} // namespace sinter
