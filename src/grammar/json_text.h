// Texts of JSON as parts of a grammar: strings, numbers, spaces, and values as they stand. A
// writing other than JSON's changes their marks.
#pragma once

#include "grammar/regex.h"
#include "grammar/value_writing.h"
#include "jinja/input.h"

namespace sinter::grammar {

// Parts that every grammar of JSON shares; one for each grammar.
class JsonText {
public:
  JsonText(Grammar &grammar, ValueWriting writing);

  const ValueWriting &writing() const { return writing_; }

  // What may lie between two tokens: nothing, a space, or a line end with up to 20 spaces.
  ExprId space() const { return space_; }
  // One character of a string: as it stands, or escaped where the writing wants that.
  ExprId character(const CharacterSet &set);
  // The same as a part of regular expressions; for as long as this object lives.
  CharacterWriter characters();
  ExprId anyCharacters(uint32_t least, uint32_t most);
  // A string between its marks.
  ExprId quoted(ExprId content);
  // A key: between marks, or as it stands.
  ExprId key(std::string_view name, const ObjectWriting &object);
  // Any key of this content.
  ExprId anyKey(ExprId content, const ObjectWriting &object);
  // Content of a string that is this one.
  ExprId content(std::string_view text);
  std::string contentText(std::string_view text) const;
  // A value within others.
  std::string literalText(const jinja::Input &value) const;
  // `first`, spaces, `second`.
  ExprId spaced(ExprId first, ExprId second);

private:
  Grammar &grammar_;
  const ValueWriting writing_;
  ExprId space_, any_;
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
