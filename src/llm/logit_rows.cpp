// Chunks of prefill, then single tokens, with all logits wanted.
#include "llm/logit_rows.h"

#include "llm/generation.h"

#include <algorithm>

namespace sinter {

Result<void> forEachLogitRow(StepRunner &runner, PagePool &pool, std::span<const TokenId> tokens,
                             size_t decoded, const LogitRowSink &sink) {
  const RunnerLimits &limits = runner.limits();
  SINTER_TRY(checkPrompt(tokens, limits.contextTokens));
  const size_t prefilled = tokens.size() - std::min(decoded, tokens.size());
  SequencePages pages(pool);
  Batch batch;
  for (size_t at = 0; at < tokens.size();) {
    const bool decodes = at >= prefilled;
    const size_t count = decodes ? 1 : limits.prefillTokens(prefilled - at, limits.stepTokens);
    SINTER_TRY(pages.reserve(at + count));
    const BatchPart part{tokens.subspan(at, count), static_cast<uint32_t>(at), &pages,
                         LogitsWanted::All, decodes ? Phase::Decode : Phase::Prefill};
    SINTER_TRY(buildBatch({&part, 1}, limits.batchShape(), batch));
    SINTER_ASSIGN(const std::span<const float> rows, runner.step(batch));
    for (size_t row = 0; row < count; ++row)
      SINTER_TRY(sink(at + row, rows.subspan(row * limits.vocabSize, limits.vocabSize)));
    at += count;
  }
  return {};
}

} // namespace sinter
