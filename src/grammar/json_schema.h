// JSON Schema (draft 2020-12) as a grammar: whatever it has is JSON that the schema allows.
#pragma once

#include "grammar/grammar.h"
#include "grammar/value_writing.h"
#include "jinja/input.h"

namespace sinter::grammar {

// Values have one writing each: properties in the order of the schema, any of the optional ones
// left out, then others; strings with the fewest escapes; whole numbers without a point; a space,
// or a line end with spaces, where JSON allows spaces.
//
// Enforced:
//   any value   type, enum, const, allOf, anyOf, oneOf, not, if, then, else, $ref, $dynamicRef
//   ($id,
//               $anchor and $dynamicAnchor within the schema)
//   objects     properties, required, additionalProperties, patternProperties (6 patterns
//   together),
//               propertyNames, minProperties (where other names may come: one more than what is
//               required), maxProperties, dependentRequired, dependentSchemas, dependencies,
//               unevaluatedProperties
//   arrays      prefixItems, items, additionalItems, minItems, maxItems, contains, minContains,
//               maxContains, unevaluatedItems, uniqueItems (of items of few values)
//   strings     minLength, maxLength, pattern, format (each of the draft's)
//   numbers     minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf (whole numbers up
//   to
//               1000, and tenths, hundredths, ... of them)
// Where a value must fail a schema (`not`, `if`, branches of oneOf that overlap) uniqueItems and
// unevaluated* are refused, and so are several of additionalProperties, patternProperties and
// propertyNames at a time.
//
// Unsupported, with the place in the schema: $recursiveRef, references that lead out of the schema,
// and cases of the above that a grammar cannot tell or that take too many states, with the numbers.
// InvalidArgument: a keyword has a value of the wrong type, a reference leads nowhere, or nothing
// satisfies the schema. Keywords and formats that the draft does not know are notes, as it says.
Result<Grammar> parseJsonSchema(const jinja::Input &schema);
// The same as a part of a grammar, whose check() tells whether any value satisfies it. Unsupported,
// too, in a writing other than JSON's: an enum or const at the root.
Result<ExprId> addJsonSchema(Grammar &grammar, const jinja::Input &schema,
                             const ValueWriting &writing = {});

} // namespace sinter::grammar
