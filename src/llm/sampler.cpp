// Greedy choice.
#include "llm/sampler.h"

#include <cmath>

namespace sinter {

Result<TokenId> sampleGreedy(std::span<const float> logits) {
  if (logits.empty())
    return fail(Code::Internal, "no logits to choose a token from");
  size_t best = 0;
  bool anyNan = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    anyNan |= std::isnan(logits[i]);
    best = logits[i] > logits[best] ? i : best;
  }
  if (anyNan)
    return fail(Code::Internal, "the model's logits are not numbers (NaN): the weights or a kernel "
                                "must be damaged");
  return static_cast<TokenId>(best);
}

} // namespace sinter
