// The keywords of draft 2020-12, and those of older drafts that are still in use.
#include "grammar/schema_keywords.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

constexpr std::string_view kEnforced[] = {
    "type",
    "enum",
    "const",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "$ref",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "prefixItems",
    "items",
    "additionalItems",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "uniqueItems",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "$dynamicRef",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "unevaluatedProperties",
};

constexpr std::string_view kRefused[] = {"$recursiveRef"};

} // namespace

KeywordUse keywordUse(std::string_view keyword) {
  if (std::ranges::find(kEnforced, keyword) != std::end(kEnforced))
    return KeywordUse::Enforced;
  return std::ranges::find(kRefused, keyword) != std::end(kRefused) ? KeywordUse::Refused
                                                                    : KeywordUse::Note;
}

} // namespace sinter::grammar
