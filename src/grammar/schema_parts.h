// Schemas that are made of others: of references to them, and of keywords that no document has.
#pragma once

#include "grammar/schema_view.h"

namespace sinter::grammar {

// Marks what only says where a value fails a schema: such a schema evaluates nothing, as the draft
// means it for unevaluatedProperties.
inline constexpr std::string_view kContrary = "(contrary)";
// Of `contains`: the items before this one do not count.
inline constexpr std::string_view kAfter = "(after)";
// Some member satisfies "name" and "value"; of equal names the last member counts.
inline constexpr std::string_view kMember = "(member)";

inline Schema objectOf(jinja::Input::Object members) {
  return Schema(std::move(members));
}
inline Schema textOf(std::string_view value) {
  return Schema(std::string(value));
}
inline Schema countOf(size_t value) {
  return Schema(static_cast<int64_t>(value));
}
inline Schema listed(std::string_view keyword, jinja::Input::List list) {
  return objectOf({{std::string(keyword), Schema(std::move(list))}});
}
inline Schema contraryOf(Schema schema) {
  return objectOf({{"not", std::move(schema)}});
}

// A part of the document where it stands, by its number; of parts that were made, a copy.
inline Schema part(const SchemaDocument &document, const Schema &of) {
  return document.isMade(of) ? of
                             : objectOf({{"$ref", textOf(std::to_string(document.numberOf(of)))}});
}

// Objects that have it, with such a value.
inline Schema hasMember(const std::string &name, std::optional<Schema> value = std::nullopt) {
  jinja::Input::Object members{{"type", textOf("object")},
                               {"required", Schema(jinja::Input::List{textOf(name)})}};
  if (value)
    members.emplace_back("properties", objectOf({{name, std::move(*value)}}));
  return objectOf(std::move(members));
}

} // namespace sinter::grammar
