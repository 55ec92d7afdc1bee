// if, then, else, not and the dependent* keywords, said by keywords that a grammar can follow.
#pragma once

#include "grammar/schema_view.h"

namespace sinter::grammar {

// A schema that says the same as those keywords of `schema`, by references to its parts; nothing
// where it has none. Unsupported, with the place: an `if` or `not` whose contrary a grammar cannot
// tell.
Result<std::optional<Schema>> conditionsOf(const SchemaDocument &document, const Schema &schema);

} // namespace sinter::grammar
