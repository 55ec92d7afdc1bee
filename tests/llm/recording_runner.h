// A runner between a scheduler or session and a real one that notes the bits of every row of logits
// by the tokens that lead to it, so that runs can be compared row by row.
#pragma once

#include "llm/batch_memory.h"
#include "llm/step_runner.h"

#include <bit>

namespace sinter {

class RecordingRunner : public StepRunner {
public:
  using Rows = std::map<std::vector<TokenId>, std::vector<uint32_t>>;

  explicit RecordingRunner(StepRunner &runner)
      : runner_(runner), memory_(runner.limits().pageRows) {}

  Rows rows;
  // Rows that came twice, with other bits the second time.
  int changedRows = 0;

  const RunnerLimits &limits() const override { return runner_.limits(); }

  Result<std::span<const float>> step(const Batch &batch) override {
    memory_.write(batch);
    auto logits = runner_.step(batch);
    if (!logits)
      return logits;
    const size_t vocabulary = limits().vocabSize;
    for (size_t row = 0; row < batch.logitRows.tokens.size(); ++row)
      note(memory_.tokensUpTo(batch, batch.logitRows.tokens[row]),
           logits->subspan(row * vocabulary, vocabulary));
    return logits;
  }

private:
  void note(const std::vector<TokenId> &tokens, std::span<const float> row) {
    std::vector<uint32_t> bits;
    for (const float logit : row)
      bits.push_back(std::bit_cast<uint32_t>(logit));
    const auto [known, added] = rows.emplace(tokens, bits);
    changedRows += !added && known->second != bits;
  }

  StepRunner &runner_;
  BatchMemory memory_;
};

} // namespace sinter
