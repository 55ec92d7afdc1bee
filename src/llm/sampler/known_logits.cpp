// Sorting by token, and what comes before all unknown logits.
#include "llm/sampler/known_logits.h"

#include "llm/sampler/candidates.h"

#include <algorithm>
#include <limits>

namespace sinter {

void KnownLogits::set(const TopLogits &top, size_t vocabulary, size_t most) {
  order_.clear();
  for (size_t i = 0; i < top.tokens.size() && order_.size() < most; ++i)
    if (static_cast<size_t>(top.tokens[i]) < vocabulary)
      order_.push_back(static_cast<uint32_t>(i));
  std::ranges::sort(order_, {}, [&](uint32_t i) { return top.tokens[i]; });
  tokens_.clear();
  logits_.clear();
  for (const uint32_t i : order_) {
    tokens_.push_back(top.tokens[i]);
    logits_.push_back(top.logits[i]);
  }
  lastOrder_ = top.isWhole() ? std::numeric_limits<int32_t>::min() : orderOf(top.logits.back());
  lastToken_ = top.tokens.back();
}

float *KnownLogits::find(TokenId token) {
  const auto found = std::ranges::lower_bound(tokens_, token);
  return found == tokens_.end() || *found != token ? nullptr : &logits_[found - tokens_.begin()];
}

void KnownLogits::keepCertain() {
  const int32_t nothing = orderOf(-std::numeric_limits<float>::infinity());
  size_t kept = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const int32_t order = orderOf(logits_[i]);
    tokens_[kept] = tokens_[i];
    logits_[kept] = logits_[i];
    kept += order > nothing &&
            (order > lastOrder_ || (order == lastOrder_ && tokens_[i] <= lastToken_));
  }
  tokens_.resize(kept);
  logits_.resize(kept);
}

} // namespace sinter
