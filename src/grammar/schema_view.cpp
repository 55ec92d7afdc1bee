// Places are noted once; they are of all values of the document, schemas or not.
#include "grammar/schema_view.h"

#include "grammar/scanner.h"
#include "grammar/schema_conditions.h"
#include "grammar/schema_keywords.h"

#include <cmath>

namespace sinter::grammar {
namespace {

std::string pointerPart(std::string_view key) {
  std::string part;
  for (const char c : key)
    part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::optional<size_t> indexOf(std::string_view text) {
  size_t index = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || index > kMostCount)
      return std::nullopt;
    index = index * 10 + size_t(c - '0');
  }
  return text.empty() ? std::nullopt : std::optional(index);
}

const Schema *stepInto(const Schema &at, const std::string &part) {
  if (at.object())
    return at.find(part);
  const std::optional<size_t> index = at.list() ? indexOf(part) : std::nullopt;
  return index && *index < at.list()->size() ? &(*at.list())[*index] : nullptr;
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

SchemaDocument::SchemaDocument(const Schema &root) : root_(&root) {
  note(root, "#");
  for (const auto &[schema, place] : places_)
    for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"})
      if (const jinja::Input *name = schema->find(keyword); name && name->text())
        anchors_.emplace(*name->text(), schema);
}

void SchemaDocument::note(const Schema &schema, std::string first) const {
  std::vector<std::pair<const Schema *, std::string>> open{{&schema, std::move(first)}};
  while (!open.empty()) {
    const auto [at, place] = open.back();
    open.pop_back();
    if (at->list())
      for (size_t i = 0; i < at->list()->size(); ++i)
        open.emplace_back(&(*at->list())[i], place + "/" + std::to_string(i));
    if (at->object())
      for (const auto &[key, value] : *at->object())
        open.emplace_back(&value, place + "/" + pointerPart(key));
    places_[at] = place;
  }
}

const std::string &SchemaDocument::placeOf(const Schema &schema) const {
  return places_.at(&schema);
}

Fail SchemaDocument::error(const Schema &schema, std::string_view keyword, std::string message,
                           Code code) const {
  return fail(code, "schema: '" + std::string(keyword) + "' of " + placeOf(schema) + ": " +
                        std::move(message));
}

Result<const Schema *> SchemaDocument::resolve(const Schema &schema,
                                               std::string_view reference) const {
  if (!reference.starts_with('#'))
    return error(schema, "$ref",
                 "'" + std::string(reference) + "' leads out of the schema; expected '#/...'",
                 Code::Unsupported);
  if (reference.size() > 1 && reference[1] != '/')
    return anchored(schema, reference);
  const Schema *at = root_;
  std::string_view rest = reference.substr(1);
  while (at && !rest.empty()) {
    const size_t end = std::min(rest.find('/', 1), rest.size());
    std::string part(rest.substr(1, end - 1));
    part = replaced(replaced(replaced(std::move(part), "%25", "%"), "~1", "/"), "~0", "~");
    at = stepInto(*at, part);
    rest.remove_prefix(end);
  }
  if (!at)
    return error(schema, "$ref", "'" + std::string(reference) + "' leads nowhere");
  return at;
}

Result<const Schema *> SchemaDocument::anchored(const Schema &schema,
                                                std::string_view reference) const {
  const std::string name(reference.substr(1));
  const auto count = anchors_.count(name);
  if (count == 1)
    return anchors_.find(name)->second;
  return error(schema, "$ref",
               "'" + std::string(reference) + "' leads nowhere: " + std::to_string(count) +
                   " schemas have that anchor");
}

Result<const Schema *> SchemaDocument::conditionsOf(const Schema &schema) const {
  const auto [found, isNew] = conditions_.try_emplace(&schema);
  if (!isNew)
    return found->second.get();
  Result<std::optional<Schema>> made = grammar::conditionsOf(*this, schema);
  if (!made) {
    conditions_.erase(found);
    return Fail(std::move(made).error());
  }
  if (!*made)
    return nullptr;
  found->second = std::make_unique<const Schema>(std::move(**made));
  note(*found->second, placeOf(schema) + " (conditions)");
  return found->second.get();
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
