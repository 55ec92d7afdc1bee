// What a user may say about choosing tokens, with the range of each number and its meaning.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/vocabulary.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sinter {

// Added to a token's logit; -infinity: the token is never chosen.
struct LogitBias {
  TokenId token;
  float bias;
};

// Every step is off by default, which leaves greedy choice: the likeliest token each time
// (sampler/defaults.h has what a model is sampled with unless a user says otherwise). A window
// is a number of tokens back from the end of prompt and answer; -1: all of them.
struct SamplerSettings {
  double temperature = 0; // 0: greedy, after biases, penalties and DRY; no other step matters then

  // Which candidates stay, in this order; `sampler/steps.h` defines them.
  int64_t topK = 0; // 0: all
  double typicalP = 1;
  double topP = 1;
  double minP = 0;
  double xtcProbability = 0;
  double xtcThreshold = 0.1; // no two tokens have more than half of it all

  // Against tokens of the window, as `sampler/penalties.h` defines.
  double repeatPenalty = 1;
  double presencePenalty = 0;
  double frequencyPenalty = 0;
  int64_t repeatLastN = 64;

  // Against tokens that would go on with a repetition, as `sampler/dry.h` defines.
  double dryMultiplier = 0; // 0: off
  double dryBase = 1.75;
  int64_t dryAllowedLength = 2;
  int64_t dryPenaltyLastN = -1;
  std::vector<std::string> drySequenceBreakers = {"\n", ":", "\"", "*"};

  // 2: Mirostat 2.0 (Basu et al., 2007.14966) in place of the steps that choose candidates. 0: off.
  int64_t mirostat = 0;
  double mirostatTau = 5;   // the surprise to aim at, in bits a token
  double mirostatEta = 0.1; // how fast it is approached

  std::vector<LogitBias> logitBias = {}; // each token once
  uint64_t seed = 0;

  bool penalises() const {
    return repeatLastN != 0 &&
           (repeatPenalty != 1 || presencePenalty != 0 || frequencyPenalty != 0);
  }
  // Those that Mirostat replaces: top-k, typical, top-p, min-p, XTC.
  void turnOffCandidateSteps();
  // Whether biases and penalties raise no logit.
  bool onlyLowers() const;
  bool usesDry() const { return dryMultiplier != 0 && dryPenaltyLastN != 0; }

  // InvalidArgument, in one sentence: the first value out of its range, or two that contradict each
  // other.
  Result<void> check() const;
  // InvalidArgument: a bias names a token that the vocabulary of this size lacks.
  Result<void> checkVocabulary(size_t vocabulary) const;
};

// One numeric setting: its name as requests spell it and what it may be.
struct SamplerSetting {
  std::string_view name;
  std::variant<double SamplerSettings::*, int64_t SamplerSettings::*> member;
  double least, most;
  bool onlyEnds = false; // either of the two, nothing between

  bool isWhole() const { return member.index() == 1; }
  bool allows(double value) const; // false for NaN
  std::string expected() const;    // "a number from 0 to 1"
  double valueIn(const SamplerSettings &settings) const;
  // `value` is allowed.
  void set(SamplerSettings &settings, double value) const;
};

std::span<const SamplerSetting> samplerSettingTable();
// Null: there is none of this name.
const SamplerSetting *findSamplerSetting(std::string_view name);

// The shortest text that reads back as this number.
std::string numberText(double value);

} // namespace sinter
