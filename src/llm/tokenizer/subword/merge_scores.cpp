// Byte-pair encoding without a list of merges: two neighbours may join into any token, the best
// score first. SentencePiece's BPE (Kudo and Richardson 2018) works so, and so does tiktoken, where
// a token's number is its score.
#include "llm/tokenizer/subword/merges.h"
#include "llm/tokenizer/subword/subword_model.h"
#include "llm/tokenizer/unicode.h"

#include <bit>

namespace sinter {
namespace {

// Ascending where scores descend; what is no number comes last.
uint32_t rankOf(float score) {
  if (score != score)
    return UINT32_MAX;
  const auto bits = std::bit_cast<uint32_t>(score == 0 ? 0.0f : score);
  return bits & 0x80000000 ? bits : 0x7FFFFFFF - bits;
}

class MergeScores : public SubwordModel {
public:
  MergeScores(const TokenTable &tokens, const TokenizerRecipe &recipe)
      : tokens_(tokens), recipe_(recipe), fallback_(tokens, recipe) {
    for (size_t i = 0; i < tokens.texts.size(); ++i)
      if (tokens.isPlain(static_cast<TokenId>(i)))
        longest_ = std::max(longest_, tokens.texts[i].size());
  }

  void encode(const Words &words, Encoding &out) const override {
    WordMerger merger;
    std::vector<WordSymbol> symbols;
    for (size_t i = 0; i < words.spans.size(); ++i)
      encodeWord(words.at(i), out, merger, symbols);
  }

private:
  TokenId tokenOf(std::string_view text) const {
    if (text.size() > longest_)
      return -1;
    const auto id = tokens_.index->find(text);
    return id && tokens_.isPlain(*id) ? *id : -1;
  }

  std::optional<Merge> join(std::string_view word, const WordSymbol &left,
                            const WordSymbol &right) const {
    const TokenId id = tokenOf(word.substr(left.begin, right.end - left.begin));
    if (id < 0)
      return std::nullopt;
    const auto at = static_cast<size_t>(id);
    return Merge{rankOf(tokens_.scores.empty() ? 0 : static_cast<float>(tokens_.scores[at])), id};
  }

  void encodeWord(std::string_view word, Encoding &out, WordMerger &merger,
                  std::vector<WordSymbol> &symbols) const {
    if (recipe_.takesWholeWords) {
      if (const TokenId id = tokenOf(word); id >= 0) {
        out.ids.push_back(id);
        return;
      }
    }
    symbols.clear();
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t length = recipe_.bytes ? 1 : decodeUtf8(word, at).length;
      symbols.push_back({tokenOf(word.substr(at, length)), at, at + length});
      at += length;
    }
    merger.merge(symbols, [&](const WordSymbol &left, const WordSymbol &right) {
      return join(word, left, right);
    });
    const size_t before = out.ids.size();
    for (const WordSymbol &symbol : symbols) {
      if (symbol.id >= 0)
        out.ids.push_back(symbol.id);
      else
        fallback_.append(word.substr(symbol.begin, symbol.end - symbol.begin), before, out);
    }
  }

  TokenTable tokens_;
  TokenizerRecipe recipe_;
  Fallback fallback_;
  size_t longest_ = 0; // bytes of a token
};

} // namespace

MadeModel makeMergeScores(const TokenTable &tokens, const TokenizerRecipe &recipe) {
  return std::make_unique<MergeScores>(tokens, recipe);
}

} // namespace sinter
