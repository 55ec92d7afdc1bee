// Regular expressions of ECMAScript as parts of a grammar.
#pragma once

#include "grammar/grammar.h"

namespace sinter::grammar {

// How one character of a set is written: in a string of JSON some are escaped.
using CharacterWriter = std::function<ExprId(Grammar &, const CharacterSet &)>;
ExprId writePlainly(Grammar &grammar, const CharacterSet &set);

enum class RegexUse : uint8_t {
  Whole, // the text is a match
  Found, // the text has a match, as JSON Schema's `pattern` means it; `^` and `$` bind it
};

// Whole groups, classes, quantifiers (lazy ones mean the same) and escapes; characters are code
// points. InvalidArgument, with the byte: it is no regular expression. Unsupported, by name: what
// looks around or back, word boundaries, Unicode properties, and anchors other than at the ends of
// an outermost alternative.
Result<ExprId> parseRegex(Grammar &grammar, std::string_view pattern, RegexUse use,
                          const CharacterWriter &write = writePlainly);

} // namespace sinter::grammar
