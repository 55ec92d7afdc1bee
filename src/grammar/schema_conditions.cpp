// A condition becomes alternatives: it holds, or one of its keywords does not. They exclude each
// other as far as the schema lets them.
#include "grammar/schema_conditions.h"

#include "grammar/schema_keywords.h"

namespace sinter::grammar {
namespace {

using Object = jinja::Input::Object;
using List = jinja::Input::List;

Schema object(Object members) {
  return Schema(std::move(members));
}
Schema listed(const char *keyword, List list) {
  return object({{keyword, Schema(std::move(list))}});
}
Schema text(std::string_view value) {
  return Schema(std::string(value));
}

// A part of the document where it stands.
Schema part(const SchemaDocument &document, const Schema &of) {
  std::string place;
  for (const char c : document.placeOf(of))
    place += c == '%' ? "%25" : std::string(1, c);
  return object({{"$ref", text(place)}});
}

// What has no such property.
Schema lacks(const std::string &name) {
  return object({{"properties", object({{name, Schema(false)}})}});
}
Schema objectThatLacks(const std::string &name) {
  return object({{"type", text("object")}, {"properties", object({{name, Schema(false)}})}});
}
// Objects that have it, with such a value.
Schema has(const std::string &name, std::optional<Schema> value = std::nullopt) {
  Object members{{"type", text("object")}, {"required", Schema(List{text(name)})}};
  if (value)
    members.emplace_back("properties", object({{name, std::move(*value)}}));
  return object(std::move(members));
}
Schema contraryOf(Schema schema) {
  return object({{"not", std::move(schema)}});
}

// Ways in which the condition fails.
Result<List> contrariesOf(const SchemaDocument &document, const Schema &condition) {
  if (const bool *truth = std::get_if<bool>(&condition.content()))
    return *truth ? List{} : List{Schema(true)};
  SINTER_TRY(document.check(condition));
  List ways;
  for (const auto &[keyword, value] : *condition.object()) {
    if (keyword == "type" || keyword == "const" || keyword == "enum") {
      ways.push_back(contraryOf(object({{keyword, value}})));
    } else if (keyword == "not") {
      ways.push_back(part(document, value));
    } else if (keyword == "properties") {
      SINTER_ASSIGN(const Object *properties, document.objectAt(condition, keyword));
      for (const auto &[name, schema] : *properties)
        ways.push_back(has(name, contraryOf(schema)));
    } else if (keyword == "required") {
      SINTER_ASSIGN(const List *names, document.listAt(condition, keyword));
      for (const Schema &name : *names) {
        if (!name.text())
          return document.error(condition, keyword, "expected a list of names");
        ways.push_back(objectThatLacks(*name.text()));
      }
    } else if (keywordUse(keyword) != KeywordUse::Note) {
      return document.error(condition, keyword,
                            "within 'if' only type, const, enum, not, properties and required are "
                            "supported",
                            Code::Unsupported);
    }
  }
  return ways;
}

Result<std::optional<Schema>> ifThenElse(const SchemaDocument &document, const Schema &schema) {
  const Schema *condition = schema.find("if"), *then = schema.find("then"),
               *otherwise = schema.find("else");
  if (!condition || (!then && !otherwise))
    return std::nullopt;
  SINTER_ASSIGN(const List contraries, contrariesOf(document, *condition));
  const auto both = [&](Schema one, const Schema *other) {
    return other ? listed("allOf", {std::move(one), part(document, *other)}) : std::move(one);
  };
  List ways{both(part(document, *condition), then)};
  for (const Schema &contrary : contraries)
    ways.push_back(both(contrary, otherwise));
  return listed("anyOf", std::move(ways));
}

// Of one name: names that an object must have, too, or a schema that it must satisfy.
Result<Schema> dependent(const SchemaDocument &document, const Schema &schema,
                         std::string_view keyword, const std::string &name, const Schema &rule) {
  List needed{text(name)};
  if (!rule.list())
    return listed("anyOf", {lacks(name), listed("allOf", {has(name), part(document, rule)})});
  for (const Schema &other : *rule.list()) {
    if (!other.text())
      return document.error(schema, keyword, "expected lists of names");
    needed.push_back(other);
  }
  return listed("anyOf", {lacks(name), object({{"type", text("object")},
                                               {"required", Schema(std::move(needed))}})});
}

} // namespace

Result<std::optional<Schema>> conditionsOf(const SchemaDocument &document, const Schema &schema) {
  List all;
  SINTER_ASSIGN(std::optional<Schema> branches, ifThenElse(document, schema));
  if (branches)
    all.push_back(std::move(*branches));
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
  return listed("allOf", std::move(all));
}

} // namespace sinter::grammar
