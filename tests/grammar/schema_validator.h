// Whether a value satisfies a schema, told value by value as the draft says it: what grammars of
// schemas are compared with. Of the keywords that grammars enforce; references within the schema.
#pragma once

#include "grammar/json_text.h"
#include "grammar/matching.h"
#include "grammar/schema_view.h"
#include "grammar/string_formats.h"

#include <cmath>
#include <set>

namespace sinter::grammar {

class SchemaValidator {
public:
  using Input = jinja::Input;
  explicit SchemaValidator(const Input &root) : root_(root), document_(root) {}

  bool accepts(const Input &value) const { return accepts(root_, value, 0); }

private:
  static constexpr int kMostDepth = 200;

  // What schemas that hold evaluate of a value.
  struct Seen {
    std::set<std::string> names;
    std::set<size_t> items;
  };

  bool accepts(const Input &schema, const Input &value, int depth, Seen *seen = nullptr) const {
    if (const bool *truth = std::get_if<bool>(&schema.content()))
      return *truth;
    if (depth > kMostDepth)
      return true; // a reference to itself
    Seen own;
    if (!combines(schema, value, depth, own) || !conditions(schema, value, depth, own) ||
        !hasType(schema, value) || !isNamed(schema, value) || !number(schema, value) ||
        !string(schema, value) || !array(schema, value, depth, own) ||
        !object(schema, value, depth, own) || !unevaluated(schema, value, depth, own))
      return false;
    if (seen)
      seen->names.merge(own.names), seen->items.merge(own.items);
    return true;
  }

  size_t countOf(const Input &list, const Input &value, int depth, Seen &seen) const {
    size_t count = 0;
    for (const Input &schema : *list.list())
      count += accepts(schema, value, depth + 1, &seen);
    return count;
  }
  bool combines(const Input &schema, const Input &value, int depth, Seen &seen) const {
    const auto targets = document_.referencesOf(schema);
    for (const Input *target : *targets)
      if (!accepts(*target, value, depth + 1, &seen))
        return false;
    const Input *all = schema.find("allOf"), *any = schema.find("anyOf"),
                *one = schema.find("oneOf"), *no = schema.find("not");
    return (!all || countOf(*all, value, depth, seen) == all->list()->size()) &&
           (!any || countOf(*any, value, depth, seen) > 0) &&
           (!one || countOf(*one, value, depth, seen) == 1) &&
           (!no || !accepts(*no, value, depth + 1));
  }
  bool conditions(const Input &schema, const Input &value, int depth, Seen &seen) const {
    const Input *condition = schema.find("if");
    const Input *branch =
        condition ? schema.find(accepts(*condition, value, depth + 1, &seen) ? "then" : "else")
                  : nullptr;
    if (branch && !accepts(*branch, value, depth + 1, &seen))
      return false;
    for (const char *keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
      const Input *rules = value.object() ? schema.find(keyword) : nullptr;
      for (size_t i = 0; rules && i < rules->object()->size(); ++i) {
        const auto &[name, rule] = (*rules->object())[i];
        if (value.find(name) &&
            !(rule.list() ? hasAll(rule, value) : accepts(rule, value, depth + 1, &seen)))
          return false;
      }
    }
    return true;
  }
  bool unevaluated(const Input &schema, const Input &value, int depth, Seen &seen) const {
    const Input *names = schema.find("unevaluatedProperties"),
                *items = schema.find("unevaluatedItems");
    for (size_t i = 0; names && value.object() && i < value.object()->size(); ++i) {
      const auto &[name, member] = (*value.object())[i];
      if (seen.names.insert(name).second && !accepts(*names, member, depth + 1))
        return false;
    }
    for (size_t i = 0; items && value.list() && i < value.list()->size(); ++i)
      if (seen.items.insert(i).second && !accepts(*items, (*value.list())[i], depth + 1))
        return false;
    return true;
  }
  static bool hasAll(const Input &names, const Input &value) {
    return std::ranges::all_of(
        *names.list(), [&](const Input &name) { return value.find(*name.text()) != nullptr; });
  }
  bool hasType(const Input &schema, const Input &value) const {
    return (typeOf(value) & *document_.typesAt(schema)) != 0;
  }
  static bool isNamed(const Input &schema, const Input &value) {
    const Input *one = schema.find("const"), *several = schema.find("enum");
    return (!one || jsonEqual(*one, value)) &&
           (!several || std::ranges::any_of(*several->list(), [&](const Input &named) {
             return jsonEqual(named, value);
           }));
  }

  static std::optional<double> numberOf(const Input *value) {
    if (const auto *whole = value ? std::get_if<int64_t>(&value->content()) : nullptr)
      return static_cast<double>(*whole);
    const auto *real = value ? std::get_if<double>(&value->content()) : nullptr;
    return real ? std::optional(*real) : std::nullopt;
  }
  static bool number(const Input &schema, const Input &value) {
    const std::optional<double> is = numberOf(&value);
    if (!is)
      return true;
    const auto of = [&](const char *keyword) { return numberOf(schema.find(keyword)); };
    const auto step = of("multipleOf");
    const double parts = step ? *is / *step : 0;
    return !(*is < of("minimum").value_or(*is)) && !(*is > of("maximum").value_or(*is)) &&
           !(of("exclusiveMinimum") && *is <= *of("exclusiveMinimum")) &&
           !(of("exclusiveMaximum") && *is >= *of("exclusiveMaximum")) &&
           std::fabs(parts - std::round(parts)) <= 1e-9 * std::max(1.0, std::fabs(parts));
  }

  static size_t lengthOf(std::string_view text) {
    return static_cast<size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }));
  }
  static bool within(const Input &schema, const char *least, const char *most, size_t count) {
    const auto low = numberOf(schema.find(least)), high = numberOf(schema.find(most));
    return !(low && double(count) < *low) && !(high && double(count) > *high);
  }
  static bool matchesPattern(std::string_view pattern, RegexUse use, const std::string &text) {
    return matches(*regex(pattern, use), text);
  }
  static bool string(const Input &schema, const Input &value) {
    if (!value.text())
      return true;
    const Input *pattern = schema.find("pattern"), *format = schema.find("format");
    const auto known = format ? formatPattern(*format->text()) : std::nullopt;
    return within(schema, "minLength", "maxLength", lengthOf(*value.text())) &&
           (!pattern || matchesPattern(*pattern->text(), RegexUse::Found, *value.text())) &&
           (!known || matchesPattern(*known, RegexUse::Whole, *value.text()));
  }

  static bool isUnique(const Input::List &list) {
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (jsonEqual(list[i], list[j]))
          return false;
    return true;
  }
  bool array(const Input &schema, const Input &value, int depth, Seen &seen) const {
    const Input::List *list = value.list();
    if (!list)
      return true;
    const Input *unique = schema.find("uniqueItems"), *prefix = schema.find("prefixItems"),
                *items = schema.find("items");
    if (!within(schema, "minItems", "maxItems", list->size()) ||
        (unique && std::get<bool>(unique->content()) && !isUnique(*list)))
      return false;
    const size_t first = prefix ? prefix->list()->size() : 0;
    for (size_t i = 0; i < list->size(); ++i) {
      const Input *rule = i < first ? &(*prefix->list())[i] : items;
      if (rule && !accepts(*rule, (*list)[i], depth + 1))
        return false;
      if (rule)
        seen.items.insert(i);
    }
    return contains(schema, *list, depth, seen);
  }
  bool contains(const Input &schema, const Input::List &list, int depth, Seen &seen) const {
    const Input *rule = schema.find("contains");
    size_t count = 0;
    for (size_t i = 0; rule && i < list.size(); ++i)
      if (accepts(*rule, list[i], depth + 1)) {
        seen.items.insert(i);
        ++count;
      }
    const auto least = numberOf(schema.find("minContains")).value_or(1);
    const auto most = numberOf(schema.find("maxContains"));
    return !rule || (double(count) >= least && !(most && double(count) > *most));
  }

  bool object(const Input &schema, const Input &value, int depth, Seen &seen) const {
    if (!value.object())
      return true;
    const Input *required = schema.find("required");
    if (!within(schema, "minProperties", "maxProperties", value.object()->size()) ||
        (required && !hasAll(*required, value)))
      return false;
    return std::ranges::all_of(*value.object(), [&](const auto &member) {
      return acceptsMember(schema, member.first, member.second, depth + 1, seen);
    });
  }
  bool acceptsMember(const Input &schema, const std::string &name, const Input &value, int depth,
                     Seen &seen) const {
    const Input *properties = schema.find("properties"), *names = schema.find("propertyNames"),
                *patterns = schema.find("patternProperties"),
                *others = schema.find("additionalProperties");
    if (names && !accepts(*names, Input(name), depth))
      return false;
    const Input *own = properties ? properties->find(name) : nullptr;
    bool isKnown = own != nullptr;
    if (own && !accepts(*own, value, depth))
      return false;
    for (size_t i = 0; patterns && i < patterns->object()->size(); ++i) {
      const auto &[pattern, rule] = (*patterns->object())[i];
      if (!matchesPattern(pattern, RegexUse::Found, name))
        continue;
      isKnown = true;
      if (!accepts(rule, value, depth))
        return false;
    }
    if (isKnown || others)
      seen.names.insert(name);
    return isKnown || !others || accepts(*others, value, depth);
  }

  const Input &root_;
  SchemaDocument document_;
};

} // namespace sinter::grammar
