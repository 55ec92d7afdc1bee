// What runs a model's steps, as sessions see it: a batch in, rows of logits out.
#pragma once

#include "base/status.h"
#include "llm/batch.h"

#include <algorithm>
#include <span>

namespace sinter {

// Fixed when a runner is made; all numbers are at least 1.
struct RunnerLimits {
  uint32_t vocabSize = 1;
  uint32_t contextTokens = 1; // of one sequence
  uint32_t stepTokens = 1;    // most tokens in one step
  uint32_t stepSequences = 1; // most sequences in one step
  uint32_t queryTile = 1;
  uint32_t pageRows = 1;
  std::vector<KvGroupPages> kvGroups = {KvGroupPages()};
  uint32_t stateSlots = 0; // of sequences' states; 0: the model has none
  // A row has the same bits in either phase, so what was generated may be computed again as a part
  // of a prompt.
  bool phasesAgree = false;
  // Tokens of a sequence that prefill takes at once; at most stepTokens.
  uint32_t chunkRows = 1;
  uint32_t embeddingLength = 0; // elements of a row where steps give embeddings; 0: logits
  bool bothWays = false;        // tokens see all of their sequence, which one step must hold

  uint32_t rowLength() const { return embeddingLength ? embeddingLength : vocabSize; }

  // Tokens of a prompt, of which `left` are left, that a step takes which has room for `room`, at
  // least a chunk: all of them, or whole chunks.
  uint32_t prefillTokens(size_t left, uint32_t room) const {
    return left <= room ? static_cast<uint32_t>(left) : room - room % chunkRows;
  }
  uint64_t contextPages() const { return (contextTokens - 1) / pageRows + 1; }
  // Whether the KV cache has room for more than one sequence of the whole context.
  bool holdsSeveral() const {
    return std::ranges::any_of(kvGroups, [&](const KvGroupPages &group) {
      return group.pages > std::min<uint64_t>(contextPages(), group.sequencePages);
    });
  }
  // The batches that this runner takes: page tables wide enough for the whole context, so that a
  // sequence's growth changes no size.
  BatchShape batchShape() const {
    return {queryTile, (contextTokens - 1) / pageRows + 1, vocabSize};
  }
};

// Keeps the KV cache from step to step. For one thread.
class StepRunner {
public:
  virtual ~StepRunner() = default;

  virtual const RunnerLimits &limits() const = 0;

  // Writes the batch's keys and values to their slots and returns its rows of logits or embeddings,
  // [batch.logitRows.count(), limits().rowLength()], valid until the next call. After an error the
  // KV cache's rows of the batch, and the states that it was to write, are undefined.
  virtual Result<std::span<const float>> step(const Batch &batch) = 0;
};

} // namespace sinter
