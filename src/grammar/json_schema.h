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
// types and of plain values), $ref within the schema, properties, required, additionalProperties,
// patternProperties, propertyNames, minProperties, maxProperties, prefixItems, items, minItems,
// maxItems, minLength, maxLength, pattern, format, minimum, maximum, exclusiveMinimum,
// exclusiveMaximum, multipleOf. Unsupported, with the place in the schema: any other keyword of the
// draft that restricts values, and cases of these that a grammar cannot tell. InvalidArgument: a
// keyword has a value of the wrong type, a reference leads nowhere, or nothing satisfies the
// schema. Keywords that the draft does not know are notes, as it says.
Result<Grammar> parseJsonSchema(const jinja::Input &schema);

} // namespace sinter::grammar
