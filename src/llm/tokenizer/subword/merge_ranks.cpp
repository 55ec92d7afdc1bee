// Byte-pair encoding by a list of merges, over bytes (GPT-2) or over characters with tokens for
// bytes (Gemma 4, Llama 2 as tokenizer.json).
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/subword/merge_table.h"
#include "llm/tokenizer/subword/subword_model.h"
#include "llm/tokenizer/unicode.h"

#include <array>

namespace sinter {
namespace {

class MergeRanks : public SubwordModel {
public:
  MergeRanks(const TokenTable &tokens, const TokenizerRecipe &recipe)
      : tokens_(tokens), recipe_(recipe), fallback_(tokens, recipe) {}

  Result<void> readMerges(std::span<const MergeText> merges, const NoteWarning &note) {
    MergeTable::Options options;
    options.tokenCount = tokens_.texts.size();
    options.rightPrefix = recipe_.continuation.size();
    options.hidden = [this](TokenId id) { return !tokens_.isPlain(id); };
    SINTER_ASSIGN(merges_, MergeTable::create(merges, *tokens_.index, options));
    if (!merges_.oddity().empty())
      note(merges_.oddity());
    for (size_t byte = 0; byte < 256; ++byte) {
      const std::string text(1, static_cast<char>(byte));
      bytes_[byte] = symbolOf(spelled(text));
    }
    return {};
  }

  void encode(const Words &words, Encoding &out) const override {
    WordMerger merger;
    std::vector<WordSymbol> symbols;
    for (size_t i = 0; i < words.spans.size(); ++i)
      encodeWord(words.at(i), out, merger, symbols);
  }

private:
  // The symbol of a text that plain text may become.
  TokenId symbolOf(std::string_view text) const {
    const TokenId id = merges_.symbolOf(text);
    return isToken(id) && !tokens_.isPlain(id) ? -1 : id;
  }
  bool isToken(TokenId id) const {
    return id >= 0 && static_cast<size_t>(id) < tokens_.texts.size();
  }

  // As the vocabulary spells it.
  std::string spelled(std::string_view text) const {
    return recipe_.bytes ? alphabetFromBytes(text) : std::string(text);
  }

  std::optional<TokenId> wholeWord(std::string_view word) const {
    const bool newlines =
        recipe_.takesNewlines && word.find_first_not_of('\n') == std::string_view::npos;
    if (!recipe_.takesWholeWords && !newlines)
      return std::nullopt;
    const auto id = tokens_.index->find(spelled(word));
    return id && tokens_.types[static_cast<size_t>(*id)] == TokenType::Normal ? id : std::nullopt;
  }

  void takeApart(std::string_view word, std::vector<WordSymbol> &symbols) const {
    symbols.clear();
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t length = recipe_.bytes ? 1 : decodeUtf8(word, at).length;
      const std::string_view text = word.substr(at, length);
      const bool inside = at > 0 && !recipe_.continuation.empty();
      const bool last = at + length == word.size() && !recipe_.wordEnd.empty();
      TokenId id;
      if (inside || last)
        id = symbolOf((inside ? recipe_.continuation : "") + spelled(text) +
                      (last ? recipe_.wordEnd : ""));
      else
        id = length == 1 ? bytes_[static_cast<uint8_t>(text[0])] : symbolOf(text);
      symbols.push_back({id, at, at + length});
      at += length;
    }
  }

  void encodeWord(std::string_view word, Encoding &out, WordMerger &merger,
                  std::vector<WordSymbol> &symbols) const {
    if (const auto id = wholeWord(word)) {
      out.ids.push_back(*id);
      return;
    }
    takeApart(word, symbols);
    merger.merge(symbols, [this](const WordSymbol &left, const WordSymbol &right) {
      return merges_.find(left.id, right.id);
    });
    const size_t before = out.ids.size();
    for (const WordSymbol &symbol : symbols) {
      if (isToken(symbol.id))
        out.ids.push_back(symbol.id);
      else
        fallback_.append(word.substr(symbol.begin, symbol.end - symbol.begin), before, out);
    }
  }

  TokenTable tokens_;
  TokenizerRecipe recipe_;
  Fallback fallback_;
  MergeTable merges_;
  std::array<TokenId, 256> bytes_{}; // symbols of single bytes
};

} // namespace

MadeModel makeMergeRanks(const TokenTable &tokens, std::span<const MergeText> merges,
                         const TokenizerRecipe &recipe, const NoteWarning &note) {
  auto made = std::make_unique<MergeRanks>(tokens, recipe);
  SINTER_TRY(made->readMerges(merges, note));
  return made;
}

} // namespace sinter
