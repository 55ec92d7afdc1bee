// Choosing the next token from a row of logits.
#pragma once

#include "base/status.h"
#include "llm/tokenizer_vocabulary.h"

#include <span>

namespace sinter {

// The token with the largest logit, the lowest id among equals. Internal: the row is empty or holds
// a NaN, which says that the step computed nonsense; an answer is not made up from that.
Result<TokenId> sampleGreedy(std::span<const float> logits);

} // namespace sinter
