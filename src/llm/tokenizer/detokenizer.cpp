// Tokens back into text.
#include "llm/tokenizer/detokenizer.h"

#include "llm/tokenizer/unicode.h"

#include <algorithm>

namespace sinter {
namespace {

// How many bytes at the end of `text` may still become a character.
size_t openTail(std::string_view text) {
  for (size_t length = 1; length <= std::min<size_t>(3, text.size()); ++length) {
    Utf8Step step = decodeUtf8(text, text.size() - length);
    if (step.kind == Utf8Step::Kind::Incomplete && step.length == length)
      return length;
  }
  return 0;
}

} // namespace

Result<std::string> Detokenizer::push(TokenId id) {
  if (!tokenizer_->contains(id))
    return fail(Code::InvalidArgument, "token id is " + std::to_string(id) + ", expected 0 to " +
                                           std::to_string(tokenizer_->size() - 1));
  std::string out;
  if (tokenizer_->isHidden(id)) {
    if (showSpecial_ || std::ranges::binary_search(shown_, id)) {
      // A control token cannot continue a character.
      out = finish();
      appendRepairedUtf8(tokenizer_->piece(id), out);
    }
    return out;
  }
  held_ += tokenizer_->piece(id);
  size_t ready = held_.size() - openTail(held_);
  appendRepairedUtf8(std::string_view(held_).substr(0, ready), out);
  held_.erase(0, ready);
  return out;
}

std::string Detokenizer::finish() {
  std::string out;
  appendRepairedUtf8(held_, out);
  held_.clear();
  return out;
}

Result<std::string> detokenize(const Tokenizer &tokenizer, std::span<const TokenId> ids,
                               bool showSpecial) {
  Detokenizer stream(tokenizer, showSpecial);
  std::string text;
  for (TokenId id : ids) {
    SINTER_ASSIGN(std::string more, stream.push(id));
    text += more;
  }
  text += stream.finish();
  if (tokenizer.dropsFirstSpace() && text.starts_with(' '))
    text.erase(0, 1);
  return text;
}

} // namespace sinter
