// Doublings that are tried one after the other.
#include "llm/batch_limit.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace sinter {
namespace {

constexpr double kNewest = 0.125;     // share of the newest step in an average
constexpr uint64_t kOldest = 1 << 12; // decode steps for which a measurement is believed
constexpr uint32_t kTolerance = 5;    // a fifth of a power of two is as good as the power

std::optional<uint32_t> nearestPower(uint32_t sequences) {
  const auto below = static_cast<uint32_t>(std::bit_width(sequences)) - 1;
  for (const uint32_t power : {below, below + 1}) {
    const int64_t size = int64_t{1} << power, apart = size - int64_t{sequences};
    if (std::max(apart, -apart) * kTolerance <= size)
      return power;
  }
  return std::nullopt;
}

} // namespace

BatchLimit::BatchLimit(uint32_t least, uint32_t most)
    : least_(std::min(least, most)), most_(most) {}

bool BatchLimit::isKnown(const Rate &rate) const {
  return rate.step > 0 && steps_ - rate.step < kOldest;
}

// What was not measured for long is believed to have paid if more sequences ran since.
bool BatchLimit::pays(uint32_t power) const {
  const auto isMeasured = [this](const Rate &rate) { return isKnown(rate); };
  if (!isKnown(rates_[power]))
    return std::any_of(rates_.begin() + power + 1, rates_.end(), isMeasured);
  return power == 0 || !isKnown(rates_[power - 1]) ||
         rates_[power].tokensPerSecond >= kPays * rates_[power - 1].tokensPerSecond;
}

uint32_t BatchLimit::sequences() const {
  auto power = static_cast<uint32_t>(std::bit_width(std::max(least_, 1u) - 1)); // rounded up
  while (power + 1 < kSizes && (uint64_t{1} << power) < most_ && pays(power))
    ++power;
  return static_cast<uint32_t>(std::clamp<uint64_t>(uint64_t{1} << power, least_, most_));
}

void BatchLimit::addDecode(uint32_t sequences, double seconds) {
  ++steps_;
  const auto power = sequences > 0 ? nearestPower(sequences) : std::nullopt;
  if (!power || *power >= kSizes || seconds <= 0)
    return;
  Rate &rate = rates_[*power];
  const double tokens = sequences / seconds;
  rate.tokensPerSecond =
      isKnown(rate) ? rate.tokensPerSecond + kNewest * (tokens - rate.tokensPerSecond) : tokens;
  rate.step = steps_;
}

} // namespace sinter
