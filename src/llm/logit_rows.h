// The logits of every token of a text, as scores and comparisons want them.
#pragma once

#include "llm/kv_pages.h"
#include "llm/step_runner.h"

#include <functional>

namespace sinter {

// Called once for each token, in order: its position and its logits, valid during the call.
using LogitRowSink = std::function<Result<void>(size_t position, std::span<const float> logits)>;

// Runs the tokens as one sequence from position 0. The last `decoded` of them (at most all) are
// decoded, one a step; those before are prefilled in chunks. InvalidArgument: no tokens, or more
// than the context. Exhausted: the pool has too few pages. Errors of the runner and the sink are
// passed on.
Result<void> forEachLogitRow(StepRunner &runner, PagePool &pages, std::span<const TokenId> tokens,
                             size_t decoded, const LogitRowSink &sink);

} // namespace sinter
