// Arguments between tags as a part of a grammar.
#pragma once

#include "jinja/input.h"
#include "llm/chat/answer_syntax.h"
#include "llm/chat/mark_grammar.h"

namespace sinter {

// One tag for each property in the order of the schema; texts stand without quotes and do not have
// the closing tag. Unsupported, with the keyword: what such texts cannot be held to.
Result<grammar::ExprId> tagArguments(grammar::Grammar &grammar, MarkGrammar &marks,
                                     const ArgumentTags &tags, const jinja::Input &schema);
// The same for ArgumentForm::Elements. Values that are no texts stand as JSON.
Result<grammar::ExprId> elementArguments(grammar::Grammar &grammar, MarkGrammar &marks,
                                         const ArgumentTags &tags, const jinja::Input &schema);
// Any keys and values.
grammar::ExprId anyTagArguments(grammar::Grammar &grammar, MarkGrammar &marks,
                                const ArgumentTags &tags);

} // namespace sinter
