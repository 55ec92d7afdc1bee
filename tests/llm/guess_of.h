// The guess of a device from a row's largest logits, by the rule that it was told, in f64.
#pragma once

#include "llm/sampler/known_logits.h"
#include "llm/token_guess.h"

#include <algorithm>
#include <cmath>

namespace sinter {

inline TokenId guessOf(const TopLogits &top, const GuessRule &rule) {
  const size_t count = std::min<size_t>(rule.topK, top.tokens.size());
  if (count == 0)
    return -1;
  std::vector<double> weights;
  double sum = 0, before = 0;
  for (size_t i = 0; i < count; ++i)
    sum += weights.emplace_back(std::exp(double(top.logits[i]) - double(top.logits[0])));
  std::vector<std::pair<TokenId, double>> kept; // with their distances to the largest logit
  for (size_t i = 0; i < count; before += weights[i++]) {
    const double distance = double(top.logits[i]) - double(top.logits[0]);
    if (i == 0 || (before < double(rule.topP) * sum && distance >= std::log(double(rule.minP))))
      kept.emplace_back(top.tokens[i], distance);
  }
  double mass = 0;
  size_t likely = 0; // of those that are kept
  for (size_t i = 0; i < kept.size(); ++i)
    mass += weights[i];
  while (likely < kept.size() && weights[likely] >= double(rule.xtcThreshold) * mass)
    ++likely;
  if (likely > 1)
    kept.erase(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(likely - 1));
  for (auto &[token, weight] : kept) // the first of them may be that
    weight = std::exp(
        (weight - double(top.logits[likely > 1 ? likely - 1 : 0]) + double(top.logits[0])) /
        double(rule.temperature));
  std::ranges::sort(kept);
  double all = 0, left = 0;
  for (const auto &[token, weight] : kept)
    all += weight;
  left = double(rule.uniform) * all;
  TokenId last = -1;
  for (const auto &[token, weight] : kept) {
    if (weight <= 0)
      continue;
    last = token;
    if (left < weight)
      break;
    left -= weight;
  }
  return last;
}

} // namespace sinter
