// unevaluatedProperties and unevaluatedItems: once it is settled which schemas hold, what they
// evaluate is known, and the keywords say the same as additionalProperties and items of all.
#include "grammar/schema_compiler.h"
#include "grammar/schema_parts.h"

#include <algorithm>

namespace sinter::grammar {

using jinja::Input;

static bool isAmong(const SchemaSet &all, const Schema *schema) {
  return std::ranges::find(all, schema) != all.end();
}

// What the schema's own keywords evaluate; those of `owner` that ask for it do not.
void SchemaCompiler::addEvaluated(const Schema &owner, const Schema &schema,
                                  Evaluated &evaluated) const {
  const Input *items = schema.find("items"), *prefix = schema.find("prefixItems");
  if (!prefix && items && items->list()) {
    prefix = items;
    items = schema.find("additionalItems");
  }
  const bool isOwner = &schema == &owner;
  evaluated.allNames = evaluated.allNames || schema.find("additionalProperties") ||
                       (!isOwner && schema.find("unevaluatedProperties"));
  evaluated.allItems = evaluated.allItems || items || (!isOwner && schema.find("unevaluatedItems"));
  if (prefix && prefix->list())
    evaluated.items = std::max(evaluated.items, prefix->list()->size());
  if (const Schema *contained = schema.find("contains"))
    evaluated.contains.push_back(contained);
  if (const Input *properties = schema.find("properties"); properties && properties->object())
    for (const auto &[name, value] : *properties->object())
      evaluated.names.push_back(name);
  if (const Input *patterns = schema.find("patternProperties"); patterns && patterns->object())
    for (const auto &[pattern, value] : *patterns->object())
      evaluated.patterns.push_back(pattern);
}

// Of the schemas that hold together, those that `owner` leads to in the same place.
Result<SchemaCompiler::Evaluated> SchemaCompiler::evaluatedFrom(const SchemaSet &all,
                                                                const Schema &owner) const {
  Evaluated evaluated;
  SchemaSet open{&owner}, met;
  while (!open.empty()) {
    const Schema *schema = open.back();
    open.pop_back();
    if (isAmong(met, schema) || !isAmong(all, schema) || doc_.ownKeyword(*schema, kContrary))
      continue;
    met.push_back(schema);
    if (!doc_.isMade(*schema))
      addEvaluated(owner, *schema, evaluated);
    SINTER_ASSIGN(const SchemaSet targets, doc_.referencesOf(*schema));
    open.insert(open.end(), targets.begin(), targets.end());
    SINTER_ASSIGN(const Schema *conditions, doc_.conditionsOf(*schema));
    if (conditions)
      open.push_back(conditions);
    for (const std::string_view keyword : {"allOf", "anyOf", "oneOf"}) {
      SINTER_ASSIGN(const Input::List *list, doc_.listAt(*schema, keyword));
      for (size_t i = 0; list && i < list->size(); ++i)
        open.push_back(&(*list)[i]);
    }
  }
  return evaluated;
}

Schema SchemaCompiler::unevaluatedNames(const Evaluated &evaluated, const Schema &rule) const {
  Input::Object names, patterns;
  for (const std::string &name : evaluated.names)
    names.emplace_back(name, Schema(true));
  for (const std::string &pattern : evaluated.patterns)
    patterns.emplace_back(pattern, Schema(true));
  const bool isBare = std::holds_alternative<bool>(rule.content());
  return objectOf({{"properties", objectOf(std::move(names))},
                   {"patternProperties", objectOf(std::move(patterns))},
                   {"additionalProperties", isBare ? rule : part(doc_, rule)}});
}

// Items that a `contains` has are evaluated.
Schema SchemaCompiler::unevaluatedItems(const Evaluated &evaluated, const Schema &rule) const {
  Schema others = std::holds_alternative<bool>(rule.content()) ? rule : part(doc_, rule);
  if (!evaluated.contains.empty()) {
    Input::List ways{std::move(others)};
    for (const Schema *contained : evaluated.contains)
      ways.push_back(part(doc_, *contained));
    others = listed("anyOf", std::move(ways));
  }
  return objectOf({{"prefixItems", Schema(Input::List(evaluated.items, Schema(true)))},
                   {"items", std::move(others)}});
}

Result<void> SchemaCompiler::addUnevaluated(SchemaSet &all) const {
  if (!doc_.hasUnevaluated())
    return {};
  SchemaSet made;
  for (const Schema *schema : all) {
    const Schema *names = schema->find("unevaluatedProperties"),
                 *items = schema->find("unevaluatedItems");
    if ((!names && !items) || doc_.isMade(*schema))
      continue;
    SINTER_ASSIGN(const Evaluated evaluated, evaluatedFrom(all, *schema));
    if (names && !evaluated.allNames)
      made.push_back(&doc_.keep(*schema, unevaluatedNames(evaluated, *names)));
    if (items && !evaluated.allItems)
      made.push_back(&doc_.keep(*schema, unevaluatedItems(evaluated, *items)));
  }
  all.insert(all.end(), made.begin(), made.end());
  return {};
}

} // namespace sinter::grammar
