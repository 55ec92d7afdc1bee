// A runner without a model, for the tests of the scheduler: logits are a hash of all rows of a
// sequence that a KV cache group sees, of their phases where the limits say that phases differ, and
// of their places in chunks.
// So tokens tell whether every row was computed, where it belongs and as it was the first time.
#pragma once

#include "llm/batch_memory.h"
#include "llm/guess_of.h"
#include "llm/step_runner.h"
#include "llm/top_of.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace sinter {

struct RunStep {
  Phase phase;
  int64_t rows, sequences;
};

class HashRunner : public StepRunner {
public:
  explicit HashRunner(const RunnerLimits &limits) : limits_(limits), memory_(limits.pageRows) {}

  std::set<int64_t> failAt; // steps of these numbers fail
  Code failure = Code::DeviceLost;
  std::vector<RunStep> steps;
  // The largest logits of each row, which are at hand then, while rows are read; 0: all are at
  // hand.
  size_t topCount = 0;
  int64_t rowsRead = 0;
  // Takes steps ahead, if so, and guesses another token for every so many rows; 0: for none.
  bool ahead = false;
  int64_t wrongEvery = 0;
  int64_t stepsBehind = 0; // that took a token from a guess

  const RunnerLimits &limits() const override { return limits_; }

  Result<std::span<const float>> step(const Batch &batch) override {
    checkLimits(batch);
    steps.push_back({batch.phase, batch.tokenCount(), batch.sequenceCount()});
    if (failAt.contains(std::ssize(steps) - 1)) {
      Batch damage = batch; // the memory of the batch's sequences is undefined from now on
      for (int32_t &token : damage.tokens)
        token ^= 1;
      memory_.write(damage);
      return fail(failure, "the device is gone");
    }
    memory_.write(batch);
    logits_.clear();
    for (const int32_t token : batch.logitRows.tokens)
      addRow(hashOf(batch, token));
    return std::span<const float>(logits_);
  }

  Result<StepRows> stepToChoose(const Batch &batch) override {
    SINTER_ASSIGN(const std::span<const float> rows, step(batch));
    const size_t length = limits_.vocabSize, count = std::min(topCount, length);
    if (count == 0)
      return StepRows(rows, length);
    top_.set(rows, length, count);
    const auto read = [this, rows, length](size_t row) -> Result<std::span<const float>> {
      ++rowsRead;
      row_.assign(length, 0);
      std::ranges::copy(rows.subspan(row * length, length), row_.begin());
      return std::span<const float>(row_);
    };
    return StepRows(read, length, top_.logits, top_.tokens, count);
  }

  bool runsAhead() const override { return ahead; }
  size_t stepsUnderWay() const { return underWay_.size(); }
  // The device does the step at once; the host may only see it at finish().
  Result<void> begin(const Batch &batch, const StepOrders &orders) override {
    EXPECT_LT(underWay_.size(), 2u);
    Batch known = batch;
    stepsBehind += std::ranges::any_of(orders.sources, [](int32_t source) { return source >= 0; });
    for (size_t i = 0; i < known.tokens.size(); ++i)
      if (const int32_t source = orders.sources[i]; source >= 0)
        known.tokens[i] = guesses_.at(static_cast<size_t>(source));
    Begun begun{step(known).transform(
                    [](auto rows) { return std::vector<float>(rows.begin(), rows.end()); }),
                {},
                {},
                {}};
    guesses_.assign(orders.rows.size(), 0); // whatever the device makes of it
    for (const RowOrder &row : orders.rows)
      begun.kept.push_back(row.isKept);
    if (begun.rows) {
      begun.top.set(*begun.rows, limits_.vocabSize, std::max<size_t>(topCount, 1));
      for (size_t row = 0; row < orders.rows.size(); ++row)
        guesses_[row] = guess(begun, row, orders.rows[row].guess);
    }
    begun.guesses = guesses_;
    underWay_.push_back(std::move(begun));
    return {};
  }
  Result<StepRows> finish() override {
    EXPECT_FALSE(underWay_.empty());
    finished_ = std::move(underWay_.front());
    underWay_.pop_front();
    if (!finished_.rows)
      return Fail(finished_.rows.error());
    const size_t length = limits_.vocabSize, count = std::max<size_t>(topCount, 1);
    const bool replaced = !underWay_.empty();
    const auto read = [this, length, replaced](size_t row) -> Result<std::span<const float>> {
      EXPECT_TRUE(!replaced || finished_.kept[row]) << "the row is gone";
      ++rowsRead;
      return std::span<const float>(*finished_.rows).subspan(row * length, length);
    };
    StepRows rows(read, length, finished_.top.logits, finished_.top.tokens, count);
    rows.setGuesses(finished_.guesses, finished_.kept, replaced);
    return rows;
  }

private:
  struct Begun {
    Result<std::vector<float>> rows;
    TopOfRows top;
    std::vector<TokenId> guesses;
    std::vector<uint8_t> kept;
  };

  TokenId guess(const Begun &begun, size_t row, const GuessRule &rule) {
    const size_t count = begun.top.tokens.size() / guesses_.size();
    const TokenId token =
        guessOf({std::span(begun.top.logits).subspan(row * count, count),
                 std::span(begun.top.tokens).subspan(row * count, count), limits_.vocabSize},
                rule);
    if (token < 0 || wrongEvery == 0 || ++guessed_ % wrongEvery != 0)
      return std::max(token, 0);
    return (token + 1) % static_cast<TokenId>(limits_.vocabSize);
  }

  static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
  }
  uint64_t hashOf(const Batch &batch, int32_t token) const {
    const bool states = limits_.stateSlots > 0;
    uint64_t hash = states ? hashOf(memory_.sequenceUpTo(batch, token), 1) : 1;
    for (size_t group = states; group < limits_.kvGroups.size(); ++group)
      hash = hashOf(memory_.lastUpTo(batch, token, group, limits_.kvGroups[group].lookBack), hash);
    return hash;
  }
  uint64_t hashOf(const std::vector<WrittenToken> &tokens, uint64_t hash) const {
    for (const WrittenToken &written : tokens) {
      hash = mix(hash, static_cast<uint64_t>(written.token) * 2 +
                           (!limits_.phasesAgree && written.phase == Phase::Decode));
      if (limits_.chunkRows > 1 && written.phase == Phase::Prefill)
        hash = mix(hash, static_cast<uint64_t>(written.place) % limits_.chunkRows);
    }
    return hash;
  }
  void addRow(uint64_t hash) {
    for (uint32_t i = 0; i < limits_.vocabSize; ++i)
      logits_.push_back(static_cast<float>(mix(hash, i) >> 40) / (1 << 21));
  }
  void checkLimits(const Batch &batch) const {
    EXPECT_GE(batch.tokenCount(), 1);
    EXPECT_LE(batch.tokenCount(), limits_.stepTokens);
    EXPECT_LE(batch.sequenceCount(), limits_.stepSequences);
    EXPECT_EQ(batch.pagesPerSequence, limits_.batchShape().pagesPerSequence);
  }

  RunnerLimits limits_;
  BatchMemory memory_;
  std::vector<float> logits_, row_;
  TopOfRows top_;
  std::vector<TokenId> guesses_; // of the newest step
  std::deque<Begun> underWay_;
  Begun finished_{std::vector<float>(), {}, {}, {}};
  int64_t guessed_ = 0;
};

} // namespace sinter
