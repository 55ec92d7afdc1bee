// A runner without a model, for the tests of the scheduler: logits are a hash of all rows of a
// sequence that a KV cache group sees, of their phases where the limits say that phases differ, and
// of their places in chunks.
// So tokens tell whether every row was computed, where it belongs and as it was the first time.
#pragma once

#include "llm/batch_memory.h"
#include "llm/step_runner.h"
#include "llm/top_of.h"

#include <gtest/gtest.h>

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

private:
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
};

} // namespace sinter
