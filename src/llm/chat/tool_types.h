// The types of tools' parameters, which tell texts from other values where a model writes no
// quotes.
#pragma once

#include "jinja/input.h"

#include <map>
#include <string>

namespace sinter {

// Bits of grammar::JsonType that values of each parameter of each tool may have. Parameters that no
// schema describes are missing. Parts of objects and of lists stand there by their paths: "a/b",
// "a/item".
using ParameterTypes = std::map<std::string, uint32_t, std::less<>>;
using ToolTypes = std::map<std::string, ParameterTypes, std::less<>>;

// Of a list [{"type": "function", "function": {"name", "parameters"}}].
ToolTypes toolTypesOf(const jinja::Input &tools);

// The types that a schema allows, as far as type, enum, const, anyOf, oneOf, allOf and references
// within `root` say it.
uint32_t schemaTypes(const jinja::Input &schema, const jinja::Input &root);

} // namespace sinter
