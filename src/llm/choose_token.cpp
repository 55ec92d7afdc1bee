// First what is at hand, then the whole row.
#include "llm/choose_token.h"

namespace sinter {

static Result<std::optional<TokenId>> chooseOfTop(const TopLogits &top, Sampler *sampler,
                                                  std::span<const TokenId> suppressed,
                                                  SamplerScratch &scratch) {
  if (top.tokens.empty())
    return std::nullopt;
  if (sampler)
    return sampler->sampleTop(top, scratch);
  return sampleGreedyOfTop(top, suppressed);
}

Result<TokenId> chooseToken(const StepRows &rows, size_t index, Sampler *sampler,
                            std::span<const TokenId> suppressed, SamplerScratch &scratch) {
  SINTER_ASSIGN(const std::optional<TokenId> token,
                chooseOfTop(rows.top(index), sampler, suppressed, scratch));
  if (token)
    return *token;
  SINTER_ASSIGN(const std::span<const float> logits, rows.row(index));
  return sampler ? sampler->sample(logits, scratch) : sampleGreedy(logits, suppressed);
}

} // namespace sinter
