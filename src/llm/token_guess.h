// What a device is told so that it can guess the token that the host will choose from a row: then
// the step after it can begin before the host has chosen. The host chooses as ever, so a wrong
// guess costs a row of a step and changes no token.
#pragma once

#include <cstdint>

namespace sinter {

// The draw of a sampler without penalties and biases, in the order of sampler/steps.h.
struct GuessRule {
  uint32_t topK = 0; // candidates at first; 1: the largest; 0: no guess
  float topP = 1;
  float minP = 0;
  float xtcThreshold = 2; // above 1: XTC takes no candidate away
  float temperature = 1;  // above 0
  float uniform = 0;      // in [0, 1]: where the draw falls

  bool isAny() const { return topK > 0; }
};

// How well the tokens of a sequence are guessed.
struct GuessRecord {
  uint64_t guesses = 0, wrong = 0;

  void note(bool isRight) {
    ++guesses;
    wrong += !isRight;
  }
  // A wrong guess costs its sequence a step: more than a step's host time, so few may be wrong.
  bool isGood() const { return wrong * 16 <= guesses + 32; }
};

// How a row of logits is used.
struct RowOrder {
  GuessRule guess;
  bool isKept = false; // the host reads all of it, also when a later step has begun
};

} // namespace sinter
