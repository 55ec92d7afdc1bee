// Outcomes to figures.
#include "cli/load/load_figures.h"

#include <algorithm>

namespace sinter::cli {
namespace {

constexpr unsigned kTooMany = 429, kUnavailable = 503;
constexpr size_t kMostKinds = 32;

} // namespace

void Outcome::onToken(LoadClock::time_point when) {
  if (hasToken_)
    gaps.push_back(static_cast<float>(secondsSince(last_, when)));
  else
    firstSeconds = secondsSince(due_, when);
  hasToken_ = true;
  last_ = when;
}

double Outcome::perTokenSeconds() const {
  if (answerTokens < 2)
    return 0;
  return secondsSince(due_, last_) > firstSeconds
             ? (secondsSince(due_, last_) - firstSeconds) / static_cast<double>(answerTokens - 1)
             : 0;
}

bool Outcome::isWithin(const GoodputLimits &limits) const {
  const auto holds = [](double value, double most) { return most == 0 || value <= most; };
  const double longest = gaps.empty() ? 0 : *std::ranges::max_element(gaps);
  return !fault && holds(firstSeconds, limits.firstToken) && holds(longest, limits.betweenTokens) &&
         holds(perTokenSeconds(), limits.perToken) && holds(wholeSeconds, limits.whole);
}

void RunFigures::add(const Outcome &outcome, const GoodputLimits &limits) {
  late.add(outcome.lateSeconds);
  if (outcome.status == kTooMany || outcome.status == kUnavailable) {
    ++refused;
    refusedWithRetryAfter += outcome.saysRetryAfter;
    refusal.add(outcome.wholeSeconds);
  }
  if (outcome.fault) {
    const bool isNew = !errors.contains(outcome.fault->kind);
    ErrorFigures &error =
        errors[isNew && errors.size() >= kMostKinds ? "others" : outcome.fault->kind];
    if (error.count++ == 0)
      error.example = outcome.fault->example;
    return;
  }
  ++answered;
  good += outcome.isWithin(limits);
  promptTokens += outcome.promptTokens;
  answerTokens += outcome.answerTokens;
  firstToken.add(outcome.firstSeconds);
  whole.add(outcome.wholeSeconds);
  if (outcome.answerTokens > 1)
    perToken.add(outcome.perTokenSeconds());
  for (const float gap : outcome.gaps)
    betweenTokens.add(static_cast<double>(gap));
}

std::span<const LatencyMeasure> latencyMeasures() {
  static constexpr LatencyMeasure kMeasures[] = {
      {"ttft", "first token", &RunFigures::firstToken},
      {"itl", "between tokens", &RunFigures::betweenTokens},
      {"tpot", "per token", &RunFigures::perToken},
      {"e2el", "whole answer", &RunFigures::whole},
      {"late", "sent late", &RunFigures::late},
      {"refusal", "refusal", &RunFigures::refusal}};
  return kMeasures;
}

} // namespace sinter::cli
