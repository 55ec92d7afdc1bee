// Ragged batches: the tokens of several sequences in one step, as the plan's input buffers want
// them.
#pragma once

#include "base/status.h"
#include "llm/kv_pages.h"
#include "llm/tokenizer/vocabulary.h"
#include "plan/contract.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

// Which of a part's tokens need logits, or embeddings.
enum class LogitsWanted : uint8_t { None, First, Last, All };

using contract::Phase;

// The next tokens of one sequence: those at positions [position, position + tokens.size()). Their
// keys and values go to the sequence's pages, which must reach that far; the rows before `position`
// are there already, and the state, where there are states, is theirs.
struct BatchPart {
  std::span<const TokenId> tokens;
  uint32_t position = 0;
  const SequencePages *pages = nullptr;
  LogitsWanted logits = LogitsWanted::Last;
  Phase phase = Phase::Prefill;
};

// Tokens whose logits are wanted, in the order of their rows.
struct LogitRows {
  std::vector<int32_t> tokens, positions;
  std::vector<int32_t> blocks; // [C * 3]

  int64_t count() const { return static_cast<int64_t>(tokens.size()); }
  int64_t blockCount() const { return static_cast<int64_t>(blocks.size() / 3); }
  // `count` rows that follow one another in a sequence, as query tiles of at most `queryTile`.
  void add(int32_t sequence, int32_t firstToken, int32_t position, int32_t count,
           uint32_t queryTile);
};

// Where the tokens of a step lie in a KV cache group.
struct KvPlaces {
  std::vector<int32_t> slots;
  std::vector<int32_t> pageTable; // [S * P], 0 where no page is read
};

// One step's inputs. See plan/contract.h for what each array means; T, S, B, R and C are their
// sizes.
struct Batch {
  uint32_t pagesPerSequence = 0; // P, the width of page tables
  Phase phase = Phase::Prefill;  // G
  std::vector<int32_t> tokens, positions;
  std::array<KvPlaces, contract::kKvGroups.size()> kv; // of those that the block pool has
  std::vector<int32_t> kvLengths;
  std::vector<int32_t> blocks;     // [B * 3]
  std::vector<int32_t> stateSpans; // [S * 4]; none where sequences have no states
  LogitRows logitRows;

  int64_t tokenCount() const { return static_cast<int64_t>(tokens.size()); }
  int64_t sequenceCount() const { return static_cast<int64_t>(kvLengths.size()); }
  int64_t blockCount() const { return static_cast<int64_t>(blocks.size() / 3); }
  void clear();
};

// What a plan demands of its batches.
struct BatchShape {
  uint32_t queryTile = 1;        // most tokens of one query tile; at least 1
  uint32_t pagesPerSequence = 1; // most pages of a sequence; at least 1
  uint32_t vocabSize = 1;        // token ids are below
};

// Fills `batch` (its memory is reused from step to step) from the parts: sequence i of the batch is
// parts[i], and rows of logits come in the order of the parts. InvalidArgument: a part without
// tokens, a token outside the vocabulary, pages that do not reach, more pages than a sequence may
// have, more tokens than a window's pages hold beside what they read, parts of two phases, several
// decode tokens in a part, or parts of unlike block pools; the batch is then empty.
Result<void> buildBatch(std::span<const BatchPart> parts, const BatchShape &shape, Batch &batch);

// contract::Symbol::LongestContext for this batch and these rows of logits; 0 where it asks for the
// minimum. Steps of several tokens of a prompt that want no logits are alike, however many keys
// they see, so that a device runs one graph for all of them.
int64_t longestOf(const Batch &batch, const LogitRows &rows);

} // namespace sinter
