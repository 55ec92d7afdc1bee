// What an answer is held to, token by token.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/vocabulary.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

// Bits of the tokens that may come next, the lowest first; tokens beyond them may not come.
using TokenMask = std::vector<uint64_t>;

// Tokens that are likely to come next, in order.
struct Draft {
  std::vector<TokenId> tokens;
  std::vector<TokenMask> masks; // [tokens]: what may come after each
};

// Of one answer, from its beginning on. For one thread.
class TokenConstraint {
public:
  virtual ~TokenConstraint() = default;

  // Valid until the next call.
  virtual Result<std::span<const uint64_t>> allowed() = 0;
  // The answer has one more token, which was allowed.
  virtual Result<void> accept(TokenId token) = 0;

  // Does a part of the work of allowed(), so that another answer's can come between. False: some
  // is left.
  virtual Result<bool> prepare() { return true; }
  // The text that the form demands next as a model would write it. An answer may go on otherwise,
  // with other tokens of the same text or with other spaces.
  virtual Result<Draft> draft() { return Draft(); }

  // Whether allowed() has its answer at once; false only where another thread makes it.
  virtual bool isReady() { return true; }
  // Waits until that is so, or for this long.
  virtual void waitUntilReady(std::chrono::microseconds) {}
  // Tokens of a draft for which allowed() is ready all along; valid until the next call.
  virtual std::span<const TokenId> drafted() { return {}; }
};

} // namespace sinter
