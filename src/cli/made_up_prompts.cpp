// Goes through the vocabulary in strides.
#include "cli/made_up_prompts.h"

namespace sinter::cli {

static constexpr uint64_t kStride = 7919;

std::vector<std::vector<TokenId>> madeUpPrompts(const Tokenizer &tokenizer, uint32_t count,
                                                uint32_t length) {
  std::vector<std::vector<TokenId>> prompts(count);
  const uint64_t size = tokenizer.size();
  uint64_t i = 0;
  for (std::vector<TokenId> &prompt : prompts)
    for (; prompt.size() < length; ++i) {
      const TokenId id = static_cast<TokenId>(i * kStride % size);
      if (!tokenizer.isHidden(id) || i >= size)
        prompt.push_back(id);
    }
  return prompts;
}

std::vector<TokenId> madeUpTokens(uint32_t vocabulary, uint32_t length) {
  std::vector<TokenId> tokens;
  for (uint64_t i = 0; i < length; ++i)
    tokens.push_back(static_cast<TokenId>(i * kStride % vocabulary));
  return tokens;
}

} // namespace sinter::cli
