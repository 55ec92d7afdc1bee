// llama.cpp's notation of grammars: `root ::= "yes" | "no"`.
#pragma once

#include "grammar/grammar.h"

namespace sinter::grammar {

// The grammar whose texts the rule `root` describes. Texts in quotes, sets in brackets, `.` for any
// character, groups, `|`, `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}`, comments after `#`, and the
// escapes
// \n \r \t \\ \" \[ \] \- \^ \xHH \uHHHH \UHHHHHHHH. InvalidArgument, with the byte: it is written
// wrongly, has no root, or a rule twice. Unsupported: tokens in angle brackets. Errors of
// Grammar::check.
Result<Grammar> parseGbnf(std::string_view text);

} // namespace sinter::grammar
