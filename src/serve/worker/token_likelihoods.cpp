// The head of a row of logits.
#include "serve/worker/token_likelihoods.h"

#include "llm/likelihood.h"

#include <algorithm>

namespace sinter::serve {
namespace {

// The ids of the `count` largest logits, the largest first.
std::vector<TokenId> likeliest(std::span<const float> logits, size_t count) {
  const auto before = [&](TokenId a, TokenId b) {
    const float ofA = logits[static_cast<size_t>(a)], ofB = logits[static_cast<size_t>(b)];
    return ofA != ofB ? ofA > ofB : a < b;
  };
  std::vector<TokenId> best; // a heap with the least likely one in front
  for (size_t i = 0; i < logits.size() && count > 0; ++i) {
    const TokenId id = static_cast<TokenId>(i);
    if (best.size() == count && !before(id, best.front()))
      continue;
    if (best.size() == count) {
      std::ranges::pop_heap(best, before);
      best.pop_back();
    }
    best.push_back(id);
    std::ranges::push_heap(best, before);
  }
  std::ranges::sort_heap(best, before);
  return best;
}

} // namespace

std::vector<TokenLikelihood> likelihoodsOf(std::span<const float> logits, TokenId chosen,
                                           uint32_t count, const Tokenizer &tokenizer) {
  logits = logits.first(std::min(logits.size(), tokenizer.size()));
  const double sum = logSumOf(logits);
  std::vector<TokenLikelihood> found;
  const auto add = [&](TokenId id) {
    const double logprob = logits[static_cast<size_t>(id)] - sum;
    found.push_back({id, std::string(tokenizer.piece(id)), static_cast<float>(logprob)});
  };
  add(chosen);
  for (const TokenId id : likeliest(logits, count))
    add(id);
  return found;
}

} // namespace sinter::serve
