// Parts of grammars that marks need: marks with control tokens in them, text up to a mark.
#pragma once

#include "grammar/grammar.h"
#include "llm/tokenizer/tokenizer.h"

namespace sinter {

// A stretch of a mark: a control token, or text.
struct MarkPiece {
  std::string_view text;
  std::optional<TokenId> control;
};
std::vector<MarkPiece> markPieces(std::string_view mark, const Tokenizer &tokenizer);

class MarkGrammar {
public:
  MarkGrammar(grammar::Grammar &grammar, const Tokenizer &tokenizer)
      : g_(grammar), tokenizer_(tokenizer), any_(grammar.characters(grammar::CharacterSet::all())) {
  }

  grammar::ExprId mark(std::string_view text) { return g_.text(spelling(text)); }
  // Its bytes in the grammar.
  std::string spelling(std::string_view mark) const;
  grammar::ExprId anyText() { return g_.repeat(any_, 0, grammar::kUnbounded); }
  // White space as models put between marks.
  grammar::ExprId spaces();
  // Text that does not have the mark, the mark, then `after`. Where it may end, the text may also
  // be all.
  grammar::ExprId textUpTo(std::string_view mark, grammar::ExprId after, bool mayEnd = false);

private:
  grammar::ExprId scan(std::string_view word, grammar::ExprId after, bool mayEnd);

  grammar::Grammar &g_;
  const Tokenizer &tokenizer_;
  const grammar::ExprId any_;
};

} // namespace sinter
