// Embeddings and scores of texts, many in a step.
#pragma once

#include "llm/embedding_head.h"
#include "llm/kv_pages.h"
#include "llm/pooling.h"
#include "llm/step_runner.h"

#include <functional>

namespace sinter {

using TextTokens = std::vector<TokenId>;

struct EmbeddingOptions {
  Pooling pooling = Pooling::Mean;
  bool normalize = true;
  const EmbeddingHead *head = nullptr; // after pooling, or on each row; null: none
};

// Called once for each text, in order, with its number and its embeddings [rows, width]: one row,
// or one for each token where nothing pools; valid during the call.
using EmbeddingSink = std::function<Result<void>(size_t text, std::span<const float> rows)>;

// InvalidArgument, with the numbers and the text's number from 1 on: it has no tokens, more than
// the context or a step takes, or one outside of the vocabulary.
Result<void> checkText(const RunnerLimits &limits, const TextTokens &text, size_t number);

// Runs texts through a model whose step gives embeddings (RunnerLimits::embeddingLength). Each text
// is whole in a step and has the same bits alone and beside others. InvalidArgument, with the
// numbers: checkText() refuses one of them. Exhausted: the pool has too few pages. Errors of the
// runner and the sink are passed on.
Result<void> embed(StepRunner &runner, PagePool &pages, std::span<const TextTokens> texts,
                   const EmbeddingOptions &options, const EmbeddingSink &sink);

} // namespace sinter
