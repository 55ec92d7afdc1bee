// Repetitions by the Z-function of the window read backwards.
#include "llm/sampler/dry.h"

#include <algorithm>
#include <cmath>

namespace sinter {
namespace {

// z[i], i >= 1: how many tokens before distance i equal those that end the window, at most
// `mostRun`. Each token is compared successfully at most once, so the time is linear.
void fillRuns(std::span<const TokenId> window, size_t mostRun, std::vector<uint32_t> &z) {
  const size_t size = window.size();
  const TokenId *end = window.data() + size - 1;
  z.assign(size, 0);
  size_t left = 0, right = 0; // the match that reaches furthest covers [left, right)
  for (size_t i = 1; i < size; ++i) {
    size_t run = i < right ? std::min<size_t>(z[i - left], right - i) : 0;
    const size_t most = std::min(mostRun, size - i);
    while (run < most && *(end - run) == *(end - i - run))
      ++run;
    z[i] = static_cast<uint32_t>(run);
    if (i + run > right) {
      left = i;
      right = i + run;
    }
  }
}

} // namespace

BreakerMatcher::BreakerMatcher(std::span<const std::string> breakers) {
  for (const std::string &text : breakers) {
    Breaker breaker{text, std::vector<uint8_t>(text.size(), 0)};
    for (size_t i = 1; i < text.size(); ++i) {
      uint8_t border = breaker.borders[i - 1];
      while (border > 0 && text[border] != text[i])
        border = breaker.borders[border - 1];
      breaker.borders[i] = static_cast<uint8_t>(border + (text[border] == text[i]));
    }
    breakers_.push_back(std::move(breaker));
  }
}

void BreakerMatcher::reset() {
  for (Breaker &breaker : breakers_)
    breaker.matched = 0;
}

// Whether the breaker ends with this byte.
bool BreakerMatcher::Breaker::step(char byte, uint8_t &state) const {
  while (state > 0 && (state == text.size() || text[state] != byte))
    state = borders[state - 1];
  state = static_cast<uint8_t>(state + (text[state] == byte));
  return state == text.size();
}

bool BreakerMatcher::endsIn(std::string_view piece) {
  bool ends = false;
  for (Breaker &breaker : breakers_)
    for (const char byte : piece)
      ends |= breaker.step(byte, breaker.matched);
  return ends;
}

bool BreakerMatcher::holds(std::string_view piece) const {
  for (const Breaker &breaker : breakers_)
    if (piece.find(breaker.text) != std::string_view::npos)
      return true;
  return false;
}

void findRepetitions(std::span<const TokenId> window, size_t mostRun, size_t leastRun,
                     size_t vocabulary, DryScratch &scratch) {
  scratch.tokens.clear();
  if (scratch.longest.size() < vocabulary)
    scratch.longest.resize(vocabulary, 0);
  if (window.size() <= leastRun || mostRun < leastRun)
    return;
  fillRuns(window, mostRun, scratch.runs);
  for (size_t i = 1; i < window.size(); ++i) {
    const uint32_t run = scratch.runs[i];
    const TokenId next = window[window.size() - i];
    if (run < leastRun || next < 0 || static_cast<size_t>(next) >= vocabulary)
      continue;
    uint32_t &longest = scratch.longest[static_cast<size_t>(next)];
    if (longest == 0)
      scratch.tokens.push_back(next);
    longest = std::max(longest, run);
  }
}

float dryPenalty(const SamplerSettings &settings, uint64_t run) {
  constexpr double kMost = 1e30; // far below all logits, and still finite
  const double excess = static_cast<double>(run) - static_cast<double>(settings.dryAllowedLength);
  return static_cast<float>(
      std::min(kMost, settings.dryMultiplier * std::pow(settings.dryBase, excess)));
}

} // namespace sinter
