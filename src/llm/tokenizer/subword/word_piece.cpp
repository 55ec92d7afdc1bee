// WordPiece (as BERT has it): the longest token at each place of a word; where one is missing, the
// whole word is unknown. WordLevel: words are tokens.
#include "llm/tokenizer/subword/prefix_index.h"
#include "llm/tokenizer/subword/subword_model.h"
#include "llm/tokenizer/unicode.h"

namespace sinter {
namespace {

size_t charactersOf(std::string_view word) {
  size_t count = 0;
  for (const char byte : word)
    count += (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
  return count;
}

void appendUnknown(const TokenTable &tokens, std::string_view word, Encoding &out) {
  if (tokens.unknown)
    out.ids.push_back(*tokens.unknown);
  else
    out.droppedBytes += word.size();
}

class WordPiece : public SubwordModel {
public:
  WordPiece(const TokenTable &tokens, const TokenizerRecipe &recipe)
      : tokens_(tokens), longestWord_(recipe.longestWord) {
    std::vector<PrefixIndex::Entry> starts, insides;
    for (size_t i = 0; i < tokens.texts.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      const std::string_view text = tokens.texts[i];
      if (!tokens.isPlain(id))
        continue;
      const bool start = text.starts_with(recipe.wordStart);
      const bool inside = text.starts_with(recipe.continuation);
      // An empty mark is on every text; the longer mark then decides.
      if (start && (!inside || recipe.wordStart.size() >= recipe.continuation.size()))
        starts.push_back({text.substr(recipe.wordStart.size()), id});
      if (inside && (!start || recipe.continuation.size() >= recipe.wordStart.size()))
        insides.push_back({text.substr(recipe.continuation.size()), id});
    }
    starts_ = PrefixIndex(std::move(starts));
    insides_ = PrefixIndex(std::move(insides));
  }

  void encode(const Words &words, Encoding &out) const override {
    for (size_t i = 0; i < words.spans.size(); ++i)
      encodeWord(words.at(i), out);
  }

private:
  void encodeWord(std::string_view word, Encoding &out) const {
    const size_t before = out.ids.size();
    bool known = longestWord_ == 0 || charactersOf(word) <= longestWord_;
    for (size_t at = 0; known && at < word.size();) {
      const PrefixIndex::Match match = (at ? insides_ : starts_).longest(word.substr(at));
      known = match.length > 0;
      out.ids.push_back(match.id);
      at += match.length;
    }
    if (known)
      return;
    out.ids.resize(before);
    appendUnknown(tokens_, word, out);
  }

  TokenTable tokens_;
  uint32_t longestWord_;
  PrefixIndex starts_, insides_; // by text without the mark
};

class WordLevel : public SubwordModel {
public:
  explicit WordLevel(const TokenTable &tokens) : tokens_(tokens) {}

  void encode(const Words &words, Encoding &out) const override {
    for (size_t i = 0; i < words.spans.size(); ++i) {
      const auto id = tokens_.index->find(words.at(i));
      if (id && tokens_.isPlain(*id))
        out.ids.push_back(*id);
      else
        appendUnknown(tokens_, words.at(i), out);
    }
  }

private:
  TokenTable tokens_;
};

} // namespace

MadeModel makeWordPiece(const TokenTable &tokens, const TokenizerRecipe &recipe) {
  return std::make_unique<WordPiece>(tokens, recipe);
}

MadeModel makeWordLevel(const TokenTable &tokens, const TokenizerRecipe &recipe) {
  return std::make_unique<WordLevel>(tokens);
}

} // namespace sinter
