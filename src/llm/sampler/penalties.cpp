// Counting within a window, and the three penalties.
#include "llm/sampler/penalties.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter {

float keptFinite(float before, float after) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return std::isfinite(before) ? std::clamp(after, -kMost, kMost) : after;
}

std::vector<WindowCounts::Entry>::iterator WindowCounts::find(TokenId token) {
  return std::lower_bound(entries_.begin(), entries_.end(), token,
                          [](const Entry &entry, TokenId id) { return entry.token < id; });
}

void WindowCounts::begin(std::span<const TokenId> history) {
  const size_t window = window_ < 0 ? history.size() : static_cast<size_t>(window_);
  const auto recent = history.last(std::min(window, history.size()));
  std::vector<TokenId> sorted(recent.begin(), recent.end());
  std::sort(sorted.begin(), sorted.end());
  entries_.clear();
  for (const TokenId token : sorted)
    if (!entries_.empty() && entries_.back().token == token)
      ++entries_.back().count;
    else
      entries_.push_back({token, 1});
}

void WindowCounts::add(std::span<const TokenId> history) {
  SINTER_CHECK(!history.empty());
  if (window_ == 0)
    return;
  const TokenId token = history.back();
  if (const auto entry = find(token); entry != entries_.end() && entry->token == token)
    ++entry->count;
  else
    entries_.insert(entry, {token, 1});
  if (window_ < 0 || history.size() <= static_cast<size_t>(window_))
    return;
  const auto oldest = find(history[history.size() - 1 - static_cast<size_t>(window_)]);
  if (--oldest->count == 0)
    entries_.erase(oldest);
}

uint32_t WindowCounts::countOf(TokenId token) const {
  const auto found = std::ranges::lower_bound(entries_, token, {}, &Entry::token);
  return found == entries_.end() || found->token != token ? 0 : found->count;
}

float penalised(float logit, uint32_t count, const SamplerSettings &settings) {
#pragma clang fp contract(off)
  const auto repeat = static_cast<float>(settings.repeatPenalty);
  const auto presence = static_cast<float>(settings.presencePenalty);
  const auto frequency = static_cast<float>(settings.frequencyPenalty);
  const float repeated = logit > 0 ? logit / repeat : logit * repeat;
  return keptFinite(logit, repeated - (presence + frequency * static_cast<float>(count)));
}

void penalise(std::span<const WindowCounts::Entry> entries, const SamplerSettings &settings,
              std::span<float> logits) {
  for (const auto &[token, count] : entries)
    if (token >= 0 && static_cast<size_t>(token) < logits.size()) {
      float &logit = logits[static_cast<size_t>(token)];
      logit = penalised(logit, count, settings);
    }
}

} // namespace sinter
