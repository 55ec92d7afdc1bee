// A condition becomes alternatives: it holds, or one of its keywords does not. They exclude each
// other as far as the schema lets them.
#include "grammar/schema_conditions.h"

#include "grammar/schema_contraries.h"
#include "grammar/schema_parts.h"

namespace sinter::grammar {
namespace {

using Object = jinja::Input::Object;
using List = jinja::Input::List;

// What has no such property.
Schema lacks(const std::string &name) {
  return objectOf({{"properties", objectOf({{name, Schema(false)}})}});
}

Schema marked(Schema contrary) {
  if (auto *members = std::get_if<Object>(&contrary.content()))
    members->emplace_back(kContrary, Schema(true));
  return contrary;
}

Result<std::optional<Schema>> ifThenElse(const SchemaDocument &document, const Schema &schema) {
  const Schema *condition = schema.find("if"), *then = schema.find("then"),
               *otherwise = schema.find("else");
  if (!condition || (!then && !otherwise && !document.hasUnevaluated()))
    return std::nullopt;
  SINTER_ASSIGN(const List contraries, contrariesOf(document, *condition));
  const auto both = [&](Schema one, const Schema *other) {
    return other ? listed("allOf", {std::move(one), part(document, *other)}) : std::move(one);
  };
  List ways{both(part(document, *condition), then)};
  for (const Schema &contrary : contraries)
    ways.push_back(both(marked(contrary), otherwise));
  return listed("anyOf", std::move(ways));
}

Result<std::optional<Schema>> contrary(const SchemaDocument &document, const Schema &schema) {
  const Schema *no = schema.find("not");
  if (!no || hasPlainContrary(schema))
    return std::nullopt;
  SINTER_ASSIGN(List contraries, contrariesOf(document, *no));
  return marked(contraries.size() == 1 ? std::move(contraries.front())
                                       : listed("anyOf", std::move(contraries)));
}

// Of one name: names that an object must have, too, or a schema that it must satisfy.
Result<Schema> dependent(const SchemaDocument &document, const Schema &schema,
                         std::string_view keyword, const std::string &name, const Schema &rule) {
  List needed{textOf(name)};
  if (!rule.list())
    return listed("anyOf", {lacks(name), listed("allOf", {hasMember(name), part(document, rule)})});
  for (const Schema &other : *rule.list()) {
    if (!other.text())
      return document.error(schema, keyword, "expected lists of names");
    needed.push_back(other);
  }
  return listed("anyOf", {lacks(name), objectOf({{"type", textOf("object")},
                                                 {"required", Schema(std::move(needed))}})});
}

} // namespace

Result<std::optional<Schema>> conditionsOf(const SchemaDocument &document, const Schema &schema) {
  List all;
  for (const auto of : {ifThenElse, contrary}) {
    SINTER_ASSIGN(std::optional<Schema> made, of(document, schema));
    if (made)
      all.push_back(std::move(*made));
  }
  for (const std::string_view keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    SINTER_ASSIGN(const Object *rules, document.objectAt(schema, keyword));
    for (size_t i = 0; rules && i < rules->size(); ++i) {
      const auto &[name, rule] = (*rules)[i];
      if (keyword == "dependentRequired" && !rule.list())
        return document.error(schema, keyword, "expected lists of names");
      SINTER_ASSIGN(Schema made, dependent(document, schema, keyword, name, rule));
      all.push_back(std::move(made));
    }
  }
  if (all.empty())
    return std::nullopt;
  return all.size() == 1 ? std::move(all.front()) : listed("allOf", std::move(all));
}

} // namespace sinter::grammar
