// Texts of JSON as parts of a grammar: strings, numbers, spaces, and values as they stand.
#pragma once

#include "grammar/regex.h"
#include "jinja/input.h"

namespace sinter::grammar {

// Parts that every grammar of JSON shares; one for each grammar.
class JsonText {
public:
  explicit JsonText(Grammar &grammar);

  // What may lie between two tokens: nothing, a space, or a line end with up to 20 spaces.
  ExprId space() const { return space_; }
  // One character of a string of JSON: as it stands, or escaped where JSON wants that.
  static ExprId character(Grammar &grammar, const CharacterSet &set);
  ExprId anyCharacters(uint32_t least, uint32_t most);
  // A string between quotes.
  ExprId quoted(ExprId content);
  // Content of a string that is this one.
  ExprId content(std::string_view text);
  // `first`, spaces, `second`.
  ExprId spaced(ExprId first, ExprId second);

private:
  Grammar &grammar_;
  ExprId space_, any_, quote_;
};

// A value in the writing that grammars accept: no spaces, whole numbers without a point.
std::string jsonLiteral(const jinja::Input &value);
// The text of a string between its quotes.
std::string jsonStringContent(std::string_view text);
// Whether two values are equal as JSON Schema says: 1 and 1.0 are, objects in any order are.
bool jsonEqual(const jinja::Input &a, const jinja::Input &b);

// Equal of equal values, and of no others.
std::string jsonKey(const jinja::Input &value);
// One of these texts; what they begin with alike is there once.
ExprId textsExpr(Grammar &grammar, std::vector<std::string> texts);

} // namespace sinter::grammar
