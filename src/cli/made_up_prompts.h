// Prompts for measuring, which need no text.
#pragma once

#include "llm/tokenizer/tokenizer.h"

#include <vector>

namespace sinter::cli {

// `count` prompts of `length` ordinary tokens in a fixed order without meaning: what a step costs
// does not depend on them.
std::vector<std::vector<TokenId>> madeUpPrompts(const Tokenizer &tokenizer, uint32_t count,
                                                uint32_t length);
// The same for a model without a tokenizer.
std::vector<TokenId> madeUpTokens(uint32_t vocabulary, uint32_t length);

} // namespace sinter::cli
