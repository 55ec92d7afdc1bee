// Moving averages of the two phases.
#include "llm/prefill_budget.h"

#include <algorithm>

namespace sinter {
namespace {

constexpr double kNewest = 0.25; // share of the newest step in an average
constexpr uint32_t kGrain = 16;  // products of fewer rows take no less time

void average(double &mean, double seconds) {
  mean = mean == 0 ? seconds : mean + kNewest * (seconds - mean);
}

} // namespace

PrefillBudget::PrefillBudget(uint32_t least, uint32_t most, double ratio)
    : least_(least), most_(std::max(least, most)), ratio_(ratio) {}

uint32_t PrefillBudget::tokens() const {
  if (ratio_ <= 0 || tokenSeconds_ <= 0 || decodeSeconds_ <= 0)
    return most_;
  const double fit = ratio_ * decodeSeconds_ / tokenSeconds_;
  if (fit >= most_)
    return most_;
  const auto whole = static_cast<uint32_t>(fit) / kGrain * kGrain;
  return std::clamp(whole, least_, most_);
}

void PrefillBudget::addPrefill(uint32_t tokens, double seconds) {
  if (tokens > 0)
    average(tokenSeconds_, seconds / tokens);
}

void PrefillBudget::addDecode(double seconds) {
  average(decodeSeconds_, seconds);
}

} // namespace sinter
