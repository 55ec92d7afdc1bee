// What runs a model's steps, as sessions see it: a batch in, rows of logits out.
#pragma once

#include "base/status.h"
#include "llm/batch.h"
#include "llm/sampler/known_logits.h"
#include "llm/token_guess.h"

#include <algorithm>
#include <functional>
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
  // Whether a sequence can take its last row back: no state has moved on, and the row after it,
  // which may be written already, lies where no row is that is still read.
  bool canTakeBack() const {
    return stateSlots == 0 &&
           (stepTokens > 1 || std::ranges::none_of(kvGroups, &KvGroupPages::isRing));
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

// What a step that is begun ahead is told beside its batch.
struct StepOrders {
  // Of each token: the row of the step begun before it whose guess the token is. -1: the batch has
  // it.
  std::span<const int32_t> sources;
  std::span<const RowOrder> rows; // of each row of logits
};

// The rows of logits of a step, valid until the runner's next call.
class StepRows {
public:
  using Read = std::function<Result<std::span<const float>>(size_t row)>;

  // [rows, length], all at hand.
  StepRows(std::span<const float> logits, size_t length) : logits_(logits), length_(length) {}
  // Rows elsewhere, of which the `topCount` largest logits are at hand: [rows, topCount].
  StepRows(Read read, size_t length, std::span<const float> topLogits,
           std::span<const TokenId> topTokens, size_t topCount)
      : length_(length), read_(std::move(read)), topLogits_(topLogits), topTokens_(topTokens),
        topCount_(topCount) {}

  // Of a step that was begun ahead: its guesses, and whether a later step has taken the place of
  // the rows that were not to be kept.
  void setGuesses(std::span<const TokenId> guesses, std::span<const uint8_t> kept, bool replaced) {
    guesses_ = guesses;
    kept_ = kept;
    replaced_ = replaced;
  }
  // What the device took the row's token for; -1: nothing.
  TokenId guess(size_t index) const { return guesses_.empty() ? -1 : guesses_[index]; }
  // Whether row() works.
  bool hasRow(size_t index) const { return !replaced_ || kept_[index]; }

  // All logits of a row, which may have to be copied from the device; valid until the next call.
  Result<std::span<const float>> row(size_t index) const {
    return read_ ? read_(index) : logits_.subspan(index * length_, length_);
  }
  // The largest; none where all logits are at hand.
  TopLogits top(size_t index) const {
    if (topCount_ == 0)
      return {};
    return {topLogits_.subspan(index * topCount_, topCount_),
            topTokens_.subspan(index * topCount_, topCount_), length_};
  }

private:
  std::span<const float> logits_;
  size_t length_;
  Read read_;
  std::span<const float> topLogits_;
  std::span<const TokenId> topTokens_;
  size_t topCount_ = 0;
  std::span<const TokenId> guesses_;
  std::span<const uint8_t> kept_;
  bool replaced_ = false;
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
  // The same where rows are logits to choose tokens from: they are read as they are asked for.
  virtual Result<StepRows> stepToChoose(const Batch &batch) {
    SINTER_ASSIGN(const std::span<const float> rows, step(batch));
    return StepRows(rows, limits().rowLength());
  }

  // Whether it takes steps whose tokens the host does not know yet, and sequences can take their
  // last row back.
  virtual bool runsAhead() const { return false; }
  // Begins a decode step, behind the one begun before, and returns; at most two are under way. An
  // error is that of step(), and no step was begun. Of runners that run ahead.
  virtual Result<void> begin(const Batch &batch, const StepOrders &orders) {
    return fail(Code::Unsupported, "this runner begins no steps ahead");
  }
  // Waits for the step that was begun first of those under way. Its rows are valid until the
  // runner's next call.
  virtual Result<StepRows> finish() {
    return fail(Code::Unsupported, "this runner begins no steps ahead");
  }
};

} // namespace sinter
