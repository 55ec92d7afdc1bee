// Tokens back into text, one at a time, so that a stream never shows half a character.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/tokenizer.h"

#include <span>
#include <string>
#include <vector>

namespace sinter {

// The state of one stream. Borrows the tokenizer. What push and finish return is valid UTF-8
// always; bytes that no character can come of are U+FFFD each.
class Detokenizer {
public:
  // `showSpecial`: render control tokens as their text rather than as nothing.
  explicit Detokenizer(const Tokenizer &tokenizer, bool showSpecial = false)
      : tokenizer_(&tokenizer), showSpecial_(showSpecial) {}

  // Renders these control tokens, too; ascending.
  void show(std::vector<TokenId> tokens) { shown_ = std::move(tokens); }

  // The text that this token completes, which may be empty. InvalidArgument for an id outside the
  // vocabulary; the stream then stands as before.
  Result<std::string> push(TokenId id);

  // The end of the stream: what was held back, repaired. The object is ready for another stream.
  std::string finish();

private:
  const Tokenizer *tokenizer_;
  bool showSpecial_;
  std::vector<TokenId> shown_;
  std::string held_; // the start of a character; at most three bytes between calls
};

// The text of a whole sequence.
Result<std::string> detokenize(const Tokenizer &tokenizer, std::span<const TokenId> ids,
                               bool showSpecial = false);

} // namespace sinter
