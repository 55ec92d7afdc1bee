// What a value fails a schema by.
#pragma once

#include "grammar/schema_view.h"

namespace sinter::grammar {

// Schemas for what `schema` refuses: a value that fails it satisfies one of them, others none.
// Unsupported, with the place: a keyword whose contrary a grammar cannot tell.
Result<jinja::Input::List> contrariesOf(const SchemaDocument &document, const Schema &schema);
// Whether grammars tell the `not` of a schema of themselves: it has one keyword, which is type,
// const or enum of plain values, or, where the schema's type is that keyword's, pattern, format or
// multipleOf.
bool hasPlainContrary(const Schema &schema);

} // namespace sinter::grammar
