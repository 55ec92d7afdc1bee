// First what is at hand, then the whole row.
#include "llm/choose_token.h"

#include "base/check.h"

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

Result<std::optional<TokenId>> chooseIfThere(const StepRows &rows, size_t index, Sampler *sampler,
                                             std::span<const TokenId> suppressed,
                                             SamplerScratch &scratch) {
  SINTER_ASSIGN(const std::optional<TokenId> token,
                chooseOfTop(rows.top(index), sampler, suppressed, scratch));
  if (token || !rows.hasRow(index))
    return token;
  SINTER_ASSIGN(const std::span<const float> logits, rows.row(index));
  return sampler ? sampler->sample(logits, scratch) : sampleGreedy(logits, suppressed);
}

Result<TokenId> chooseToken(const StepRows &rows, size_t index, Sampler *sampler,
                            std::span<const TokenId> suppressed, SamplerScratch &scratch) {
  SINTER_ASSIGN(const std::optional<TokenId> token,
                chooseIfThere(rows, index, sampler, suppressed, scratch));
  SINTER_CHECK(token.has_value()); // only steps that were begun ahead lose rows
  return *token;
}

} // namespace sinter
