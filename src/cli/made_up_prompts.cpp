// Goes through the vocabulary in strides.
#include "cli/made_up_prompts.h"

namespace sinter::cli {

std::vector<std::vector<TokenId>> madeUpPrompts(const Tokenizer &tokenizer, uint32_t count,
                                                uint32_t length) {
  std::vector<std::vector<TokenId>> prompts(count);
  const uint64_t size = tokenizer.size();
  constexpr uint64_t kStride = 7919;
  uint64_t i = 0;
  for (std::vector<TokenId> &prompt : prompts)
    for (; prompt.size() < length; ++i) {
      const TokenId id = static_cast<TokenId>(i * kStride % size);
      if (!tokenizer.isHidden(id) || i >= size)
        prompt.push_back(id);
    }
  return prompts;
}

} // namespace sinter::cli
