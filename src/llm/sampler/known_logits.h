// Some logits of a row, from which a token may be chosen as if from all of them.
#pragma once

#include "llm/tokenizer/vocabulary.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

// The largest logits of a row, the largest first, of equal ones the lowest token; NaN comes before
// all numbers.
struct TopLogits {
  std::span<const float> logits;
  std::span<const TokenId> tokens; // as many
  size_t rowLength = 0;            // logits of the whole row

  bool isWhole() const { return tokens.size() == rowLength; }
};

// The tokens of a TopLogits in ascending order, with logits that may be lowered. Memory is kept
// from token to token.
class KnownLogits {
public:
  // The first `most` of those below `vocabulary`.
  void set(const TopLogits &top, size_t vocabulary, size_t most);

  size_t size() const { return tokens_.size(); }
  std::span<const TokenId> tokens() const { return tokens_; }
  std::span<float> logits() { return logits_; }
  std::span<const float> logits() const { return logits_; }
  // Null: the token is not among them.
  float *find(TokenId token);

  // Takes away what may come after a logit that is not known: as none has grown, all that is
  // unknown comes after the last of the TopLogits. What is -infinity goes too.
  void keepCertain();
  // That of the last one of the TopLogits, as orderOf; the smallest where all logits are known.
  int32_t unknownOrder() const { return lastOrder_; }

private:
  std::vector<TokenId> tokens_;
  std::vector<float> logits_;
  std::vector<uint32_t> order_;
  int32_t lastOrder_ = 0;
  TokenId lastToken_ = 0;
};

} // namespace sinter
