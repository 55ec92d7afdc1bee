// Places are noted once; they are of all values of the document, schemas or not.
#include "grammar/schema_view.h"

#include "grammar/json_text.h"
#include "grammar/scanner.h"
#include "grammar/schema_conditions.h"
#include "grammar/schema_contraries.h"
#include "grammar/schema_keywords.h"
#include "grammar/schema_parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sinter::grammar {
namespace {

std::string pointerPart(std::string_view key) {
  std::string part;
  for (const char c : key)
    part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

constexpr std::pair<std::string_view, uint32_t> kTypes[] = {
    {"null", kNull},       {"boolean", kBoolean},
    {"integer", kInteger}, {"number", kInteger | kFraction},
    {"string", kString},   {"array", kArray},
    {"object", kObject},
};

} // namespace

uint32_t typeOf(const jinja::Input &value) {
  constexpr uint32_t kByIndex[] = {kNull, kBoolean, kInteger, kFraction, kString, kArray, kObject};
  const auto *real = std::get_if<double>(&value.content());
  return real && std::trunc(*real) == *real ? kInteger : kByIndex[value.content().index()];
}

SchemaDocument::SchemaDocument(const Schema &root) : root_(&root), references_(root) {
  note(root, nullptr);
  hasUnevaluated_ = std::ranges::any_of(byNumber_, [](const jinja::Input *value) {
    return value->find("unevaluatedProperties") || value->find("unevaluatedItems");
  });
}

void SchemaDocument::note(const Schema &schema, const Schema *owner) const {
  std::vector<std::pair<const jinja::Input *, Node>> open{
      {&schema, {owner, 0, kMadeOfParent, nullptr, false}}};
  while (!open.empty()) {
    auto [at, node] = open.back();
    open.pop_back();
    node.isMade = owner != nullptr;
    node.number = byNumber_.size();
    byNumber_.push_back(at);
    nodes_[at] = node;
    if (at->list())
      for (size_t i = at->list()->size(); i-- > 0;)
        open.push_back({&(*at->list()) [i], { at, 0, i, nullptr, false }});
    if (at->object())
      for (size_t i = at->object()->size(); i-- > 0;)
        open.push_back({&(*at->object())[i].second, {at, 0, i, &(*at->object())[i].first, false}});
  }
}

std::string SchemaDocument::placeOf(const Schema &schema) const {
  constexpr size_t kMostOfKey = 100, kMostParts = 20;
  std::vector<std::string> parts;
  for (const jinja::Input *at = &schema; at && parts.size() <= kMostParts;) {
    const Node &node = nodes_.at(at);
    if (!node.parent)
      parts.emplace_back("#");
    else if (node.index == kMadeOfParent)
      parts.emplace_back(" (made of it)");
    else if (node.key)
      parts.push_back('/' + pointerPart(std::string_view(*node.key).substr(0, kMostOfKey)));
    else
      parts.push_back('/' + std::to_string(node.index));
    at = node.parent;
  }
  if (parts.size() > kMostParts)
    parts.back() = "...";
  std::string place;
  for (; !parts.empty(); parts.pop_back())
    place += parts.back();
  return place;
}

Fail SchemaDocument::error(const Schema &schema, std::string_view keyword, std::string message,
                           Code code) const {
  return fail(code, "schema: '" + std::string(keyword) + "' of " + placeOf(schema) + ": " +
                        std::move(message));
}

Result<const Schema *> SchemaDocument::resolve(const Schema &schema,
                                               std::string_view reference) const {
  size_t number = 0; // as part() says it
  if (isMade(schema) &&
      std::from_chars(reference.data(), reference.data() + reference.size(), number).ec ==
          std::errc())
    return byNumber_[number];
  const Result<const Schema *> target = references_.resolve(schema, reference);
  return target ? target : error(schema, "$ref", target.error().message, target.error().code);
}

Result<std::vector<const Schema *>> SchemaDocument::referencesOf(const Schema &schema) const {
  std::vector<const Schema *> targets;
  SINTER_ASSIGN(const std::string *reference, textAt(schema, "$ref"));
  if (reference) {
    SINTER_ASSIGN(const Schema *target, resolve(schema, *reference));
    targets.push_back(target);
  }
  SINTER_ASSIGN(const std::string *dynamic, textAt(schema, "$dynamicRef"));
  if (dynamic) {
    const Result<const Schema *> target = references_.resolveDynamic(schema, *dynamic);
    if (!target)
      return error(schema, "$dynamicRef", target.error().message, target.error().code);
    targets.push_back(*target);
  }
  return targets;
}

const Schema &SchemaDocument::keep(const Schema &owner, Schema made) const {
  const auto [found, isNew] = kept_.try_emplace({&owner, jsonLiteral(made)});
  if (isNew) {
    found->second = std::make_unique<const Schema>(std::move(made));
    note(*found->second, &owner);
  }
  return *found->second;
}

const Schema &SchemaDocument::contraryOf(const Schema &schema) const {
  return keep(schema, grammar::contraryOf(part(*this, schema)));
}

Result<const Schema *> SchemaDocument::conditionsOf(const Schema &schema) const {
  if (const auto found = conditions_.find(&schema); found != conditions_.end())
    return found->second;
  SINTER_ASSIGN(std::optional<Schema> made, grammar::conditionsOf(*this, schema));
  const Schema *kept = made ? &keep(schema, std::move(*made)) : nullptr;
  conditions_[&schema] = kept;
  return kept;
}

Result<void> SchemaDocument::check(const Schema &schema) const {
  if (std::holds_alternative<bool>(schema.content()))
    return {};
  if (!schema.object())
    return fail(Code::InvalidArgument,
                "schema: " + placeOf(schema) + " is no schema: expected an object, true or false");
  for (const auto &[keyword, value] : *schema.object())
    if (keywordUse(keyword) == KeywordUse::Refused)
      return error(schema, keyword, "this keyword is not supported", Code::Unsupported);
  return {};
}

Result<const jinja::Input::List *> SchemaDocument::listAt(const Schema &schema,
                                                          std::string_view keyword) const {
  const jinja::Input *found = schema.find(keyword);
  if (found && !found->list())
    return error(schema, keyword, "expected a list");
  return found ? found->list() : nullptr;
}

Result<const jinja::Input::Object *> SchemaDocument::objectAt(const Schema &schema,
                                                              std::string_view keyword) const {
  const jinja::Input *found = schema.find(keyword);
  if (found && !found->object())
    return error(schema, keyword, "expected an object");
  return found ? found->object() : nullptr;
}

Result<const std::string *> SchemaDocument::textAt(const Schema &schema,
                                                   std::string_view keyword) const {
  const jinja::Input *found = schema.find(keyword);
  if (found && !found->text())
    return error(schema, keyword, "expected a string");
  return found ? found->text() : nullptr;
}

Result<std::optional<double>> SchemaDocument::numberAt(const Schema &schema,
                                                       std::string_view keyword) const {
  const jinja::Input *found = schema.find(keyword);
  if (!found)
    return std::nullopt;
  if (const auto *whole = std::get_if<int64_t>(&found->content()))
    return static_cast<double>(*whole);
  if (const auto *real = std::get_if<double>(&found->content()))
    return *real;
  return error(schema, keyword, "expected a number");
}

Result<std::optional<uint32_t>> SchemaDocument::countAt(const Schema &schema,
                                                        std::string_view keyword) const {
  SINTER_ASSIGN(const std::optional<double> number, numberAt(schema, keyword));
  if (!number)
    return std::nullopt;
  if (*number < 0 || *number > kMostCount || std::trunc(*number) != *number)
    return error(schema, keyword,
                 "expected a whole number from 0 to " + std::to_string(kMostCount));
  return static_cast<uint32_t>(*number);
}

Result<bool> SchemaDocument::flagAt(const Schema &schema, std::string_view keyword) const {
  const jinja::Input *found = schema.find(keyword);
  if (found && !std::holds_alternative<bool>(found->content()))
    return error(schema, keyword, "expected true or false");
  return found && std::get<bool>(found->content());
}

Result<uint32_t> SchemaDocument::typesAt(const Schema &schema) const {
  const jinja::Input *found = schema.find("type");
  if (!found)
    return kAllTypes;
  const jinja::Input::List one{*found};
  uint32_t types = 0;
  for (const jinja::Input &name : found->list() ? *found->list() : one) {
    uint32_t type = 0;
    for (const auto &[known, bits] : kTypes)
      type |= name.text() && *name.text() == known ? bits : 0;
    if (!type)
      return error(schema, "type",
                   "expected null, boolean, integer, number, string, array or object");
    types |= type;
  }
  return types;
}

} // namespace sinter::grammar
