// A runner between a scheduler or session and a real one that notes the bits of every row of logits
// by the tokens that lead to it, so that runs can be compared row by row.
#pragma once

#include "llm/batch_memory.h"
#include "llm/step_runner.h"

#include <bit>
#include <deque>

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

  // Every row is kept, so that it can be noted.
  bool runsAhead() const override { return runner_.runsAhead(); }
  Result<void> begin(const Batch &batch, const StepOrders &orders) override {
    std::vector<RowOrder> kept(orders.rows.begin(), orders.rows.end());
    for (RowOrder &row : kept)
      row.isKept = true;
    SINTER_TRY(runner_.begin(batch, {orders.sources, kept}));
    underWay_.push_back({batch, {orders.sources.begin(), orders.sources.end()}});
    return {};
  }
  // The guesses of the step before are known by now.
  Result<StepRows> finish() override {
    auto [batch, sources] = std::move(underWay_.front());
    underWay_.pop_front();
    auto logits = runner_.finish();
    if (!logits)
      return logits;
    for (size_t i = 0; i < sources.size(); ++i)
      if (sources[i] >= 0)
        batch.tokens[i] = guesses_.at(static_cast<size_t>(sources[i]));
    memory_.write(batch);
    guesses_.clear();
    for (size_t row = 0; row < batch.logitRows.tokens.size(); ++row) {
      guesses_.push_back(logits->guess(row));
      SINTER_ASSIGN(const std::span<const float> bits, logits->row(row));
      note(memory_.tokensUpTo(batch, batch.logitRows.tokens[row]), bits);
    }
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
  std::deque<std::pair<Batch, std::vector<int32_t>>> underWay_; // with where tokens come from
  std::vector<TokenId> guesses_;                                // of the step finished last
};

} // namespace sinter
