// How likely a row of logits makes a token, and how far one row's distribution is from another's.
// In nats, computed in f64.
#pragma once

#include "llm/batch.h"

#include <span>

namespace sinter {

// ln of the sum of e^logit; shifted by the largest, so that nothing overflows. `logits` is not
// empty.
double logSumOf(std::span<const float> logits);

// -ln softmax(logits)[target].
double negativeLogLikelihood(std::span<const float> logits, TokenId target);

// The sum over the vocabulary of p ln(p / q), of the distributions p of `base` and q of `other`,
// which have equal sizes (Kullback and Leibler, 1951).
double divergence(std::span<const float> base, std::span<const float> other);

} // namespace sinter
