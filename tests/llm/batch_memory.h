// The KV cache of runners without a model: what a step wrote to each slot, read back through the
// page table, so that a mix-up of pages changes what is read. Where sequences have states, these
// are what was written, and what they say counts.
#pragma once

#include "llm/batch.h"

#include <map>

namespace sinter {

struct WrittenToken {
  TokenId token;
  Phase phase;
  int32_t place = 0; // among the tokens that its sequence has in the step, where it has a state
};

class BatchMemory {
public:
  explicit BatchMemory(uint32_t pageRows) : rows_(static_cast<int32_t>(pageRows)) {}

  void write(const Batch &batch) {
    for (size_t group = 0; group < memory_.size(); ++group)
      for (size_t i = 0; i < batch.kv[group].slots.size(); ++i)
        memory_[group][batch.kv[group].slots[i]] = {batch.tokens[i], batch.phase};
    for (size_t at = 0; at < batch.stateSpans.size(); at += 4) {
      const int32_t *span = &batch.stateSpans[at];
      std::vector<WrittenToken> state;
      if (span[0] >= 0)
        state = states_.at(span[0]);
      for (int32_t token = span[2]; token < span[2] + span[3]; ++token)
        state.push_back({batch.tokens[static_cast<size_t>(token)], batch.phase, token - span[2]});
      states_[span[1]] = std::move(state);
    }
  }

  // The sequence of the batch's token `token`, up to that token.
  std::vector<WrittenToken> sequenceUpTo(const Batch &batch, int32_t token) const {
    for (size_t at = 0; at < batch.stateSpans.size(); at += 4)
      if (const int32_t *span = &batch.stateSpans[at];
          token >= span[2] && token < span[2] + span[3]) {
        const std::vector<WrittenToken> &state = states_.at(span[1]);
        const int32_t later = span[2] + span[3] - 1 - token;
        return {state.begin(), state.end() - later};
      }
    return lastUpTo(batch, token, 0, UINT64_MAX);
  }
  // The tokens that a layer of the KV cache group sees that looks back `lookBack` rows.
  std::vector<WrittenToken> lastUpTo(const Batch &batch, int32_t token, size_t group,
                                     uint64_t lookBack) const {
    int32_t sequence = -1;
    for (int64_t block = 0; block < batch.blockCount(); ++block) {
      const int32_t *entry = &batch.blocks[block * 3];
      if (token >= entry[1] && token < entry[1] + entry[2])
        sequence = entry[0];
    }
    std::vector<WrittenToken> tokens;
    const auto last = static_cast<uint64_t>(batch.positions[token]);
    for (uint64_t i = last - std::min(last, lookBack); i <= last; ++i) {
      const auto row = static_cast<int32_t>(i);
      const int32_t page =
          batch.kv[group].pageTable[sequence * batch.pagesPerSequence + row / rows_];
      tokens.push_back(memory_[group].at(page * rows_ + row % rows_));
    }
    return tokens;
  }
  std::vector<TokenId> tokensUpTo(const Batch &batch, int32_t token) const {
    std::vector<TokenId> tokens;
    for (const WrittenToken &written : sequenceUpTo(batch, token))
      tokens.push_back(written.token);
    return tokens;
  }

private:
  int32_t rows_;
  std::array<std::map<int32_t, WrittenToken>, contract::kKvGroups.size()> memory_;
  std::map<int32_t, std::vector<WrittenToken>> states_;
};

} // namespace sinter
