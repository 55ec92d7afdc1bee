// JSON Schema (draft 2020-12) as a grammar: whatever it has is JSON that the schema allows.
#pragma once

#include "grammar/grammar.h"
#include "jinja/input.h"

namespace sinter::grammar {

// Values have one writing each: properties in the order of the schema, then others; strings with
// the fewest escapes; whole numbers without a point; a space, or a line end with spaces, where JSON
// allows spaces.
//
// Enforced: type, enum, const, allOf, anyOf, oneOf (of branches that exclude each other), not (of
// types and of plain values), if, then, else (where `if` has only type, const, enum, not,
// properties and required), $ref and $dynamicRef (to places and anchors within the schema),
// properties, required, additionalProperties, patternProperties, propertyNames, minProperties,
// maxProperties, dependentRequired, dependentSchemas, prefixItems, items, minItems, maxItems,
// uniqueItems (of items that a short enum names), minLength, maxLength, pattern, format, minimum,
// maximum, exclusiveMinimum, exclusiveMaximum, multipleOf. Unsupported, with the place in the
// schema: any other keyword of the draft that restricts values, and cases of these that a grammar
// cannot tell. InvalidArgument: a keyword has a value of the wrong type, a reference leads nowhere,
// or nothing satisfies the schema. Keywords and formats that the draft does not know are notes, as
// it says.
Result<Grammar> parseJsonSchema(const jinja::Input &schema);
// The same as a part of a grammar, whose check() tells whether any value satisfies it.
Result<ExprId> addJsonSchema(Grammar &grammar, const jinja::Input &schema);

} // namespace sinter::grammar
