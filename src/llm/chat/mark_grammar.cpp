// Text up to a word is a chain of rules, one for each length of the word's beginning that the text
// ends with, as Knuth, Morris and Pratt search.
#include "llm/chat/mark_grammar.h"

#include "llm/grammar_constraint.h"
#include "llm/tokenizer/unicode.h"

#include <algorithm>

namespace sinter {
namespace {

using grammar::CharacterSet;
using grammar::ExprId;
using grammar::RuleId;

std::u32string charactersOf(std::string_view text) {
  std::u32string codes;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = decodeUtf8(text, at);
    codes += static_cast<char32_t>(step.codePoint);
    at += step.length;
  }
  return codes;
}

// The longest beginning of the word that `word`'s first `length` characters and one more end with.
size_t nextLength(std::u32string_view word, size_t length, char32_t code) {
  std::u32string text(word.substr(0, length));
  text += code;
  for (size_t size = text.size();; --size)
    if (word.starts_with(std::u32string_view(text).substr(text.size() - size)))
      return size;
}

} // namespace

std::vector<MarkPiece> markPieces(std::string_view mark, const Tokenizer &tokenizer) {
  std::vector<MarkPiece> pieces;
  size_t begin = 0;
  const auto addText = [&](size_t end) {
    if (end > begin)
      pieces.push_back({mark.substr(begin, end - begin), std::nullopt});
  };
  for (size_t at = 0; at < mark.size();) {
    size_t size = mark.size() - at;
    std::optional<TokenId> found;
    for (; size > 0; --size) {
      found = tokenizer.findSpecial(mark.substr(at, size));
      if (found && tokenizer.type(*found) == TokenType::Control)
        break;
      found.reset();
    }
    if (!found) {
      ++at;
      continue;
    }
    addText(at);
    pieces.push_back({mark.substr(at, size), found});
    at += size;
    begin = at;
  }
  addText(mark.size());
  return pieces;
}

std::string MarkGrammar::spelling(std::string_view mark) const {
  std::string bytes;
  for (const MarkPiece &piece : markPieces(mark, tokenizer_))
    bytes += piece.control ? controlSpelling(*piece.control) : std::string(piece.text);
  return bytes;
}

ExprId MarkGrammar::spaces() {
  constexpr uint32_t kMostSpaces = 4;
  return g_.repeat(g_.characters(CharacterSet({{'\n', '\n'}, {' ', ' '}})), 0, kMostSpaces);
}

ExprId MarkGrammar::textUpTo(std::string_view text, ExprId after, bool mayEnd) {
  const std::vector<MarkPiece> pieces = markPieces(text, tokenizer_);
  if (pieces.front().control) { // which no text has
    const ExprId then = g_.sequence({{mark(text), after}});
    return g_.sequence({{anyText(), mayEnd ? g_.repeat(then, 0, 1) : then}});
  }
  const std::string_view word = pieces.front().text;
  return scan(word, g_.sequence({{mark(text.substr(word.size())), after}}), mayEnd);
}

ExprId MarkGrammar::scan(std::string_view word, ExprId after, bool mayEnd) {
  const std::u32string codes = charactersOf(word);
  std::vector<RuleId> rules;
  for (size_t i = 0; i < codes.size(); ++i)
    rules.push_back(g_.declare("text up to '" + std::string(word) + "'"));
  std::u32string known = codes;
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<grammar::CodeRange> ranges;
  for (const char32_t code : known)
    ranges.push_back({code, code});
  const ExprId others = g_.characters(CharacterSet(ranges).complement());
  for (size_t i = 0; i < codes.size(); ++i) {
    std::vector<ExprId> ways = {g_.sequence({{others, g_.call(rules.front())}})};
    for (const char32_t code : known) {
      const size_t next = nextLength(codes, i, code);
      const ExprId one = g_.characters(CharacterSet({{code, code}}));
      ways.push_back(g_.sequence({{one, next == codes.size() ? after : g_.call(rules[next])}}));
    }
    if (mayEnd)
      ways.push_back(g_.empty());
    g_.define(rules[i], g_.choice(ways));
  }
  return g_.call(rules.front());
}

} // namespace sinter
