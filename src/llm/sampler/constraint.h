// What an answer is held to, token by token.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/vocabulary.h"

#include <cstdint>
#include <span>

namespace sinter {

// Of one answer, from its beginning on. For one thread.
class TokenConstraint {
public:
  virtual ~TokenConstraint() = default;

  // Bits of the tokens that may come next, the lowest first; valid until the next call. Tokens
  // beyond them may not come.
  virtual Result<std::span<const uint64_t>> allowed() = 0;
  // The answer has one more token, which was allowed.
  virtual Result<void> accept(TokenId token) = 0;
};

} // namespace sinter
