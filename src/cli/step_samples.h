// The times of a model's launches, taken in steps as they really run: a prompt, then tokens after
// it.
#pragma once

#include "llm/model.h"

namespace sinter::cli {

// One launch of a step, with all of its times.
struct SampledLaunch {
  const plan::Launch *launch = nullptr;
  hal::Grid grid = {};
  int64_t bytes = 0;
  int64_t operations = 0;
  std::vector<double> seconds;
};

// Steps of one size.
struct SampledStep {
  uint32_t tokens = 0;                 // of all its sequences
  uint32_t depth = 0;                  // tokens before it; before the first of the tokens decoded
  std::vector<SampledLaunch> launches; // in order
  std::vector<double> wholeSeconds;    // of steps whose launches were not timed one by one
  bool asGraph = false;                // those were submissions of one recorded graph
};

struct SampledSteps {
  SampledStep prompt, decode; // `decode` is of no tokens where a model gives embeddings alone
};

// Tokens that are decoded after the prompt in each round.
inline constexpr uint32_t kSampledTokens = 8;

// Runs some rounds of both steps, timing each launch in one half of a round and whole steps in the
// other, so that all see the same machine. `sequenceCount` sequences decode together, each after as
// many tokens. The context must hold the prompt and kSampledTokens + 1 tokens, after the `depth`
// tokens that are in the KV cache before the prompt. Unsupported: the device cannot time launches.
Result<SampledSteps> sampleSteps(Model &model, uint32_t depth, uint32_t promptTokens,
                                 uint32_t sequenceCount = 1);

} // namespace sinter::cli
