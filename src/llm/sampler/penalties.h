// Penalties on tokens that were said lately: how often each was, and what that does to logits.
#pragma once

#include "llm/sampler/settings.h"

#include <span>

namespace sinter {

// What a step makes of a finite logit is kept finite: only a bias excludes a token.
float keptFinite(float before, float after);

// The distinct tokens of the last tokens of a sequence with their counts.
class WindowCounts {
public:
  struct Entry {
    TokenId token;
    uint32_t count;
  };

  // `window`: a number of tokens, or -1 for all.
  explicit WindowCounts(int64_t window) : window_(window) {}

  void begin(std::span<const TokenId> history);
  // `history` ends with the token that is new.
  void add(std::span<const TokenId> history);

  // 0: it is not in the window.
  uint32_t countOf(TokenId token) const;
  // Ascending by token.
  std::span<const Entry> entries() const { return entries_; }

private:
  std::vector<Entry>::iterator find(TokenId token);

  int64_t window_;
  // Sorted rather than hashed: a list in order that no choice of tokens makes slow.
  std::vector<Entry> entries_;
};

// Repetition penalty (Keskar et al., 1909.05858): positive logits of tokens in the window are
// divided by it, others multiplied. Then frequency penalty times the count and presence penalty
// once are subtracted, as OpenAI's API defines them. Tokens beyond the row are passed over.
float penalised(float logit, uint32_t count, const SamplerSettings &settings);
void penalise(std::span<const WindowCounts::Entry> entries, const SamplerSettings &settings,
              std::span<float> logits);

} // namespace sinter
