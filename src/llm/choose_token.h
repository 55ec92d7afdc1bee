// Choosing a token from a row of a step, with as few of its logits as decide.
#pragma once

#include "llm/sampler/sampler.h"
#include "llm/step_runner.h"

namespace sinter {

// The token that the sampler, or greedy choice where it is null, takes from all logits of row
// `index`: from the largest where they decide, else the row is read. Errors of the sampler and of
// the read.
Result<TokenId> chooseToken(const StepRows &rows, size_t index, Sampler *sampler,
                            std::span<const TokenId> suppressed, SamplerScratch &scratch);

// The same; nothing, and the sampler is as before, where it takes the whole row and that is gone.
Result<std::optional<TokenId>> chooseIfThere(const StepRows &rows, size_t index, Sampler *sampler,
                                             std::span<const TokenId> suppressed,
                                             SamplerScratch &scratch);

} // namespace sinter
