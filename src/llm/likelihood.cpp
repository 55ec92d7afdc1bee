// Sums over a vocabulary.
#include "llm/likelihood.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>

namespace sinter {

double logSumOf(std::span<const float> logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(logit - most);
  return std::log(sum) + most;
}

double negativeLogLikelihood(std::span<const float> logits, TokenId target) {
  return logSumOf(logits) - logits[static_cast<size_t>(target)];
}

double divergence(std::span<const float> base, std::span<const float> other) {
  SINTER_CHECK(base.size() == other.size());
  const double ofBase = logSumOf(base), ofOther = logSumOf(other);
  double sum = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    const double logP = base[i] - ofBase;
    sum += std::exp(logP) * (logP - (other[i] - ofOther));
  }
  return sum;
}

} // namespace sinter
