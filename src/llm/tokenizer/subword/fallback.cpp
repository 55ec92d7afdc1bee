// What becomes of characters without a token.
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/subword/subword_model.h"

#include <cstdio>

namespace sinter {
namespace {

// The spelling of a byte's own token: "<0x0A>".
std::string hexName(uint8_t byte) {
  char name[8];
  std::snprintf(name, sizeof name, "<0x%02X>", byte);
  return name;
}

} // namespace

Fallback::Fallback(const TokenTable &tokens, const TokenizerRecipe &recipe)
    : unknown_(tokens.unknown), fusesUnknown_(recipe.fusesUnknown) {
  for (size_t byte = 0; byte < byteTokens_.size(); ++byte) {
    const std::string raw(1, static_cast<char>(byte));
    std::optional<TokenId> id;
    if (recipe.byteFallback)
      id = tokens.index->find(hexName(static_cast<uint8_t>(byte)));
    if (!id && recipe.usesByteTexts) {
      id = tokens.index->find(recipe.spelling == Spelling::ByteAlphabet ? alphabetFromBytes(raw)
                                                                        : raw);
      if (id && !tokens.isPlain(*id))
        id.reset();
    }
    byteTokens_[byte] = id.value_or(-1);
  }
}

void Fallback::append(std::string_view bytes, size_t wordBegin, Encoding &out) const {
  bool complete = true;
  for (const char byte : bytes)
    complete = complete && tokenOf(static_cast<uint8_t>(byte)) >= 0;
  if (!complete && unknown_) {
    if (!fusesUnknown_ || out.ids.size() == wordBegin || out.ids.back() != *unknown_)
      out.ids.push_back(*unknown_);
    return;
  }
  for (const char byte : bytes) {
    const TokenId id = tokenOf(static_cast<uint8_t>(byte));
    if (id < 0)
      ++out.droppedBytes;
    else
      out.ids.push_back(id);
  }
}

} // namespace sinter
