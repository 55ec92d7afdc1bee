// The likelihoods of a token and of those that could have been chosen instead.
#pragma once

#include "llm/tokenizer/tokenizer.h"
#include "serve/worker/job.h"

#include <span>

namespace sinter::serve {

// By the softmax of `logits`: that of `chosen`, then those of the `count` likeliest tokens, the
// lowest id first among equals. Logits beyond the tokenizer's vocabulary count for nothing.
std::vector<TokenLikelihood> likelihoodsOf(std::span<const float> logits, TokenId chosen,
                                           uint32_t count, const Tokenizer &tokenizer);

} // namespace sinter::serve
