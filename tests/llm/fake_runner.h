// A runner without a model, for the tests of sessions: its KV cache holds the tokens themselves,
// and the next token is a function of all tokens of a sequence, read back through the page table.
#pragma once

#include "llm/batch_memory.h"
#include "llm/step_runner.h"

#include <gtest/gtest.h>

namespace sinter {

class FakeRunner : public StepRunner {
public:
  // The first answer token of a sequence that sums up to a key here; else the sum itself, modulo
  // the vocabulary.
  std::map<int64_t, TokenId> scripted;
  int64_t failAtStep = -1; // the step of this number fails
  std::vector<int64_t> stepSizes;
  RunnerLimits limits_{997, 64, 8, 4, 4, 4, {{16}}};

  const RunnerLimits &limits() const override { return limits_; }

  static int64_t sumOf(std::span<const TokenId> tokens) {
    int64_t sum = 0;
    for (const TokenId token : tokens)
      sum = sum * 31 % 10007 + token;
    return sum;
  }

  TokenId next(std::span<const TokenId> tokens) const {
    const int64_t sum = sumOf(tokens);
    const auto found = scripted.find(sum);
    return found == scripted.end() ? static_cast<TokenId>(sum % limits_.vocabSize) : found->second;
  }

  Result<std::span<const float>> step(const Batch &batch) override {
    if (failAtStep == static_cast<int64_t>(stepSizes.size()))
      return fail(Code::DeviceLost, "the device is gone");
    stepSizes.push_back(batch.tokenCount());
    memory_.write(batch);
    logits_.assign(batch.logitRows.tokens.size() * limits_.vocabSize, 0.0f);
    for (size_t row = 0; row < batch.logitRows.tokens.size(); ++row)
      logits_[row * limits_.vocabSize + nextOf(batch, batch.logitRows.tokens[row])] = 1.0f;
    return std::span<const float>(logits_);
  }

private:
  // Where there is a window, the tokens in it say the same.
  TokenId nextOf(const Batch &batch, int32_t token) const {
    std::vector<TokenId> tokens = memory_.tokensUpTo(batch, token);
    const TokenId answer = next(tokens);
    for (size_t group = 1; group < limits_.kvGroups.size(); ++group) {
      const auto last = memory_.lastUpTo(batch, token, group, limits_.kvGroups[group].lookBack);
      const size_t first = tokens.size() - last.size();
      for (size_t i = 0; i < last.size(); ++i)
        EXPECT_EQ(last[i].token, tokens[first + i]) << "at position " << first + i;
    }
    return answer;
  }

  BatchMemory memory_{limits_.pageRows};
  std::vector<float> logits_;
};

} // namespace sinter
