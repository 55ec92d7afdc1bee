// What a sampler's steps should do, said plainly: whole sorts, doubles, and no thought of speed.
#pragma once

#include "llm/sampler/settings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace sinter::reference {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Token {
  TokenId id;
  double logit;
};
using Tokens = std::vector<Token>; // ascending by id

// Those above -infinity; +infinity stands for all the probability there is.
inline Tokens tokensOf(const std::vector<double> &logits) {
  const bool infinite = std::count(logits.begin(), logits.end(), kInf) > 0;
  Tokens tokens;
  for (size_t i = 0; i < logits.size(); ++i)
    if (infinite ? logits[i] == kInf : logits[i] > -kInf)
      tokens.push_back({static_cast<TokenId>(i), infinite ? 0 : logits[i]});
  return tokens;
}

inline std::vector<double> softmax(const Tokens &tokens) {
  double top = -kInf, sum = 0;
  for (const Token &token : tokens)
    top = std::max(top, token.logit);
  std::vector<double> p;
  for (const Token &token : tokens)
    p.push_back(std::exp(token.logit - top));
  for (const double value : p)
    sum += value;
  for (double &value : p)
    value /= sum;
  return p;
}

// The shortest head of `order`, indices into `tokens`, whose probabilities reach `mass`.
inline Tokens headOf(const Tokens &tokens, const std::vector<size_t> &order, double mass) {
  const std::vector<double> p = softmax(tokens);
  std::vector<bool> kept(tokens.size());
  double taken = 0;
  for (const size_t i : order) {
    kept[i] = true;
    if ((taken += p[i]) >= mass * (1 - 1e-12))
      break;
  }
  Tokens head;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (kept[i])
      head.push_back(tokens[i]);
  return head;
}

// Indices in ascending order of a value, equal ones by index.
template <typename Value> std::vector<size_t> sortedBy(size_t count, Value value) {
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return value(a) < value(b) || (value(a) == value(b) && a < b);
  });
  return order;
}

inline Tokens topK(const Tokens &tokens, size_t k) {
  auto order = sortedBy(tokens.size(), [&](size_t i) { return -tokens[i].logit; });
  order.resize(std::min(k, order.size()));
  std::sort(order.begin(), order.end());
  Tokens kept;
  for (const size_t i : order)
    kept.push_back(tokens[i]);
  return kept;
}

inline Tokens topP(const Tokens &tokens, double mass) {
  return headOf(tokens, sortedBy(tokens.size(), [&](size_t i) { return -tokens[i].logit; }), mass);
}

inline Tokens typical(const Tokens &tokens, double mass) {
  const std::vector<double> p = softmax(tokens);
  double entropy = 0;
  for (const double value : p)
    entropy -= value > 0 ? value * std::log(value) : 0;
  const auto distance = [&](size_t i) { return std::fabs(-std::log(p[i]) - entropy); };
  return headOf(tokens, sortedBy(tokens.size(), distance), mass);
}

template <typename Keep> Tokens keptBy(const Tokens &tokens, Keep keep) {
  Tokens kept;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (keep(i))
      kept.push_back(tokens[i]);
  return kept;
}

inline Tokens minP(const Tokens &tokens, double ratio) {
  const std::vector<double> p = softmax(tokens);
  const double most = *std::max_element(p.begin(), p.end());
  return keptBy(tokens, [&](size_t i) { return p[i] >= ratio * most; });
}

inline Tokens xtc(const Tokens &tokens, double threshold) {
  const std::vector<double> p = softmax(tokens);
  std::vector<size_t> likely;
  for (const size_t i : sortedBy(tokens.size(), [&](size_t i) { return -tokens[i].logit; }))
    if (p[i] >= threshold)
      likely.push_back(i);
  if (likely.size() < 2)
    return tokens;
  return keptBy(tokens, [&](size_t i) { return p[i] < threshold || i == likely.back(); });
}

inline Tokens unsurprising(const Tokens &tokens, double mu) {
  const std::vector<double> p = softmax(tokens);
  const Tokens kept = keptBy(tokens, [&](size_t i) { return -std::log2(p[i]) <= mu; });
  return kept.empty() ? topK(tokens, 1) : kept;
}

inline Tokens divided(Tokens tokens, double temperature) {
  for (Token &token : tokens)
    token.logit /= temperature;
  return tokens;
}

// The last `window` tokens, all for -1.
inline std::vector<TokenId> lastOf(const std::vector<TokenId> &history, int64_t window) {
  const size_t count = window < 0 ? history.size() : static_cast<size_t>(window);
  return {history.end() - static_cast<ptrdiff_t>(std::min(count, history.size())), history.end()};
}

inline std::vector<double> penalised(std::vector<double> logits,
                                     const std::vector<TokenId> &history,
                                     const SamplerSettings &settings) {
  std::map<TokenId, int> counts;
  for (const TokenId token : lastOf(history, settings.repeatLastN))
    ++counts[token];
  for (const auto &[token, count] : counts) {
    double &logit = logits[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / settings.repeatPenalty : logit * settings.repeatPenalty;
    logit -= settings.presencePenalty + settings.frequencyPenalty * count;
  }
  return logits;
}

// By token, the longest run that ends the window and also stands before the token, up to `mostRun`.
inline std::map<TokenId, uint32_t> repetitions(const std::vector<TokenId> &window, size_t mostRun) {
  std::map<TokenId, uint32_t> longest;
  for (size_t at = 1; at < window.size(); ++at) {
    uint32_t run = 0;
    while (run < mostRun && run < at && window[at - 1 - run] == window[window.size() - 1 - run])
      ++run;
    longest[window[at]] = std::max(longest[window[at]], run);
  }
  return longest;
}

// What a row may hold.
enum class Row { Normal, Ties, Equal, Holes, Huge, Peaked, Infinite };
constexpr Row kRows[] = {Row::Normal, Row::Ties,   Row::Equal,   Row::Holes,
                         Row::Huge,   Row::Peaked, Row::Infinite};

inline std::string nameOf(Row kind) {
  const char *names[] = {"Normal", "Ties", "Equal", "Holes", "Huge", "Peaked", "Infinite"};
  return names[static_cast<size_t>(kind)];
}

inline std::vector<float> randomRow(Row kind, size_t size, std::mt19937 &random) {
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> row(size);
  for (float &logit : row) {
    logit = kind == Row::Equal ? 1.5f : normal(random);
    if (kind == Row::Ties)
      logit = std::round(logit);
    if (kind == Row::Holes && random() % 3 == 0)
      logit = -std::numeric_limits<float>::infinity();
    if (kind == Row::Huge)
      logit *= 1e37f;
    if (kind == Row::Peaked && random() % 16 == 0)
      logit += 12;
    if (kind == Row::Infinite && random() % 5 == 0)
      logit = std::numeric_limits<float>::infinity();
  }
  row[random() % size] = 2.25f; // never nothing but -infinity
  return row;
}

inline std::vector<double> inDoubles(const std::vector<float> &row) {
  return {row.begin(), row.end()};
}

} // namespace sinter::reference
