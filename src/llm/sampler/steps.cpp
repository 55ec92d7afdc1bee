// Each step in a pass or two over the candidates.
#include "llm/sampler/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sinter {
namespace {

constexpr uint32_t kSignBit = 0x80000000;

// Unsigned, in the order of logits.
uint32_t keyOf(float logit) {
  return static_cast<uint32_t>(orderOf(logit)) ^ kSignBit;
}

// The finder's keys are set.
void keepHead(Candidates &candidates, HeadFinder &finder, std::span<const float> weights,
              double target) {
  finder.find(weights, target);
  candidates.keepIf([&](size_t i) { return finder.takes(i); });
}

// In order of their logits.
void setKeys(const Candidates &candidates, HeadFinder &finder) {
  const auto logits = candidates.logits();
  const auto keys = finder.keys(logits.size());
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = keyOf(logits[i]);
}

// The first candidate alone.
void keepFirst(Candidates &candidates) {
  const auto logits = candidates.logits();
  const size_t first =
      static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  candidates.keepIf([&](size_t i) { return i == first; });
}

// E[logit] under the weights, in a fixed order of lanes.
double meanLogit(const Candidates &candidates, double sum) {
#pragma clang fp contract(off)
  const auto logits = candidates.logits(), weights = candidates.weights();
  double lanes[4] = {};
  const size_t whole = logits.size() / 4 * 4;
  for (size_t i = 0; i < whole; i += 4)
    for (size_t lane = 0; lane < 4; ++lane)
      lanes[lane] += static_cast<double>(weights[i + lane]) * static_cast<double>(logits[i + lane]);
  for (size_t i = whole; i < logits.size(); ++i)
    lanes[0] += static_cast<double>(weights[i]) * static_cast<double>(logits[i]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) / sum;
}

} // namespace

std::span<uint32_t> HeadFinder::keys(size_t count) {
  keys_.resize(count);
  return keys_;
}

HeadFinder::Edge HeadFinder::findEdge(Digit digit, std::span<const float> weights, double target) {
  // Neighbours tend to have one digit; sums in turn let their additions overlap.
  constexpr size_t kTurns = 4;
  sums_.assign((digit.mask + size_t{1}) * kTurns, 0);
  uint32_t most = 0, least = digit.mask;
  for (size_t n = 0; n < open_.size(); ++n) {
    const uint32_t i = open_[n], own = (keys_[i] >> digit.shift) & digit.mask;
    sums_[own * kTurns + n % kTurns] += weights.empty() ? 1.0 : static_cast<double>(weights[i]);
    most = std::max(most, own);
    least = std::min(least, own);
  }
  Edge edge{most, 0};
  for (;; --edge.digit) {
    const double *turns = &sums_[edge.digit * kTurns];
    const double sum = (turns[0] + turns[1]) + (turns[2] + turns[3]);
    if (edge.digit == least || edge.before + sum >= target)
      return edge;
    edge.before += sum;
  }
}

void HeadFinder::find(std::span<const float> weights, double target) {
  open_.resize(keys_.size());
  std::iota(open_.begin(), open_.end(), 0u);
  for (const Digit digit : {Digit{21, 0x7ff}, Digit{10, 0x7ff}, Digit{0, 0x3ff}}) {
    const Edge edge = findEdge(digit, weights, target);
    target -= edge.before;
    size_t kept = 0;
    for (size_t n = 0; n < open_.size(); ++n) {
      const uint32_t i = open_[n];
      open_[kept] = i;
      kept += ((keys_[i] >> digit.shift) & digit.mask) == edge.digit;
    }
    open_.resize(kept);
  }
  edgeKey_ = keys_[open_.front()];
  ties_ = 0;
  for (double taken = 0; ties_ < open_.size() && (ties_ == 0 || taken < target); ++ties_)
    taken += weights.empty() ? 1.0 : static_cast<double>(weights[open_[ties_]]);
}

void keepTopK(Candidates &candidates, size_t k, HeadFinder &finder) {
  if (k >= candidates.size())
    return;
  setKeys(candidates, finder);
  keepHead(candidates, finder, {}, static_cast<double>(k));
}

void keepTopP(Candidates &candidates, double mass, HeadFinder &finder) {
  const double sum = candidates.weigh();
  // All candidates below this weight have less than 1 - mass together, so the head ends before
  // them; in the usual case few are left. The factor stands for rounding.
  candidates.keepWeightsFrom(0.999 * (1 - mass) * sum / static_cast<double>(candidates.size()));
  setKeys(candidates, finder);
  keepHead(candidates, finder, candidates.weights(), mass * sum);
}

void keepTypical(Candidates &candidates, double mass, HeadFinder &finder) {
  const double sum = candidates.weigh();
  // ln p = logit - c for one c, so the distance of -ln p from its mean is that of the logits from
  // theirs.
  const double mean = meanLogit(candidates, sum);
  const auto logits = candidates.logits();
  const auto keys = finder.keys(logits.size());
  constexpr double kMost = std::numeric_limits<float>::max();
  for (size_t i = 0; i < keys.size(); ++i) {
    const double distance = std::fabs(static_cast<double>(logits[i]) - mean);
    keys[i] = ~keyOf(static_cast<float>(std::min(distance, kMost)));
  }
  keepHead(candidates, finder, candidates.weights(), mass * sum);
}

void keepMinP(Candidates &candidates, double ratio) {
  const auto logits = candidates.logits();
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  candidates.keepLogitsFrom(top + std::log(ratio));
}

void excludeTopChoices(Candidates &candidates, double threshold) {
  const double least = threshold * candidates.weigh();
  const auto logits = candidates.logits(), weights = candidates.weights();
  size_t likely = 0, last = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (static_cast<double>(weights[i]) < least)
      continue;
    last = likely == 0 || logits[i] <= logits[last] ? i : last;
    ++likely;
  }
  if (likely < 2)
    return;
  candidates.keepIf([&](size_t i) { return static_cast<double>(weights[i]) < least || i == last; });
  candidates.forgetWeights(); // what is left may be too light for the old factor
}

void keepUnsurprising(Candidates &candidates, double mu) {
  const double least = candidates.weigh() * std::exp2(-mu);
  const auto weights = candidates.weights();
  const float heaviest = *std::max_element(weights.begin(), weights.end());
  if (static_cast<double>(heaviest) >= least)
    candidates.keepWeightsFrom(least);
  else
    keepFirst(candidates);
}

} // namespace sinter
