// A schema is a list of demands that hold together, so it fails where one of them does.
#include "grammar/schema_contraries.h"

#include "grammar/schema_keywords.h"
#include "grammar/schema_parts.h"
#include "grammar/string_formats.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

using Object = jinja::Input::Object;
using List = jinja::Input::List;

bool isTrue(const Schema &schema) {
  const bool *truth = std::get_if<bool>(&schema.content());
  return truth && *truth;
}

bool isScalar(const jinja::Input &value) {
  return !value.list() && !value.object();
}

Schema typed(const char *type, Object members) {
  members.emplace(members.begin(), "type", textOf(type));
  return objectOf(std::move(members));
}

// An array whose item `index` is there and fails this.
Schema itemFails(size_t index, Schema schema) {
  List items(index, Schema(true));
  items.push_back(contraryOf(std::move(schema)));
  return typed("array",
               {{"minItems", countOf(index + 1)}, {"prefixItems", Schema(std::move(items))}});
}

class Contraries {
public:
  explicit Contraries(const SchemaDocument &document) : doc_(document) {}

  Result<List> of(const Schema &schema) {
    std::vector<const Schema *> open{&schema}, met;
    while (!open.empty()) {
      const Schema *at = open.back();
      open.pop_back();
      if (std::ranges::find(met, at) != met.end())
        continue;
      met.push_back(at);
      if (const bool *truth = std::get_if<bool>(&at->content())) {
        if (!*truth)
          ways_.push_back(Schema(true));
        continue;
      }
      SINTER_TRY(doc_.check(*at));
      SINTER_ASSIGN(const auto targets, doc_.referencesOf(*at));
      open.insert(open.end(), targets.begin(), targets.end());
      SINTER_ASSIGN(const List *parts, doc_.listAt(*at, "allOf"));
      for (size_t i = 0; parts && i < parts->size(); ++i)
        open.push_back(&(*parts)[i]);
      SINTER_TRY(branches(*at));
      SINTER_TRY(conditions(*at));
      for (const auto &[keyword, value] : *at->object())
        SINTER_TRY(failing(*at, keyword, value));
    }
    return std::move(ways_);
  }

private:
  Result<void> refuse(const Schema &schema, std::string_view keyword) const {
    return doc_.error(schema, keyword, "it is not supported where a value must fail the schema",
                      Code::Unsupported);
  }
  Schema contraryOfPart(const Schema &of) const { return contraryOf(part(doc_, of)); }

  Result<void> branches(const Schema &schema) {
    constexpr size_t kMostBranches = 32;
    SINTER_ASSIGN(const List *any, doc_.listAt(schema, "anyOf"));
    SINTER_ASSIGN(const List *one, doc_.listAt(schema, "oneOf"));
    for (const List *list : {any, one}) {
      List none;
      for (size_t i = 0; list && i < list->size(); ++i)
        none.push_back(contraryOfPart((*list)[i]));
      if (list)
        ways_.push_back(listed("allOf", std::move(none)));
    }
    if (one && one->size() > kMostBranches)
      return refuse(schema, "oneOf");
    for (size_t i = 0; one && i < one->size(); ++i)
      for (size_t j = 0; j < i; ++j)
        ways_.push_back(listed("allOf", {part(doc_, (*one)[j]), part(doc_, (*one)[i])}));
    return {};
  }

  Result<void> conditions(const Schema &schema) {
    const Schema *condition = schema.find("if"), *then = schema.find("then"),
                 *otherwise = schema.find("else");
    if (condition && then)
      ways_.push_back(listed("allOf", {part(doc_, *condition), contraryOfPart(*then)}));
    if (condition && otherwise)
      ways_.push_back(listed("allOf", {contraryOfPart(*condition), contraryOfPart(*otherwise)}));
    for (const std::string_view keyword :
         {"dependentRequired", "dependentSchemas", "dependencies"}) {
      SINTER_ASSIGN(const Object *rules, doc_.objectAt(schema, keyword));
      for (size_t i = 0; rules && i < rules->size(); ++i) {
        const auto &[name, rule] = (*rules)[i];
        if (rule.list())
          for (const Schema &other : *rule.list()) {
            SINTER_ASSIGN(Schema way, lacking(schema, keyword, other));
            ways_.push_back(listed("allOf", {hasMember(name), std::move(way)}));
          }
        else
          ways_.push_back(listed("allOf", {hasMember(name), contraryOfPart(rule)}));
      }
    }
    return {};
  }

  Result<Schema> lacking(const Schema &schema, std::string_view keyword, const Schema &name) const {
    if (!name.text())
      return doc_.error(schema, keyword, "expected a list of names");
    return typed("object", {{"properties", objectOf({{*name.text(), Schema(false)}})}});
  }

  Result<void> failing(const Schema &schema, const std::string &keyword, const Schema &value) {
    if (doc_.ownKeyword(schema, kMember) || doc_.ownKeyword(schema, kAfter))
      return refuse(schema, keyword);
    if (keyword == "type") {
      ways_.push_back(contraryOf(objectOf({{keyword, value}})));
    } else if (keyword == "const") {
      differs(value);
    } else if (keyword == "enum") {
      return named(schema);
    } else if (keyword == "not") {
      ways_.push_back(part(doc_, value));
    } else if (keyword == "uniqueItems") {
      SINTER_ASSIGN(const bool isUnique, doc_.flagAt(schema, keyword));
      return isUnique ? refuse(schema, keyword) : Result<void>();
    } else if (keyword.starts_with("unevaluated")) {
      return refuse(schema, keyword);
    } else {
      SINTER_TRY(bounds(schema, keyword, value));
      SINTER_TRY(ofString(schema, keyword, value));
      SINTER_TRY(ofArray(schema, keyword, value));
      return ofObject(schema, keyword, value);
    }
    return {};
  }

  // What is no such value.
  void differs(const jinja::Input &value) {
    if (isScalar(value)) {
      ways_.push_back(contraryOf(objectOf({{"const", value}})));
      return;
    }
    if (const List *list = value.list()) {
      ways_.push_back(contraryOf(objectOf({{"type", textOf("array")}})));
      if (!list->empty())
        ways_.push_back(typed("array", {{"maxItems", countOf(list->size() - 1)}}));
      ways_.push_back(typed("array", {{"minItems", countOf(list->size() + 1)}}));
      for (size_t i = 0; i < list->size(); ++i)
        ways_.push_back(itemFails(i, objectOf({{"const", (*list)[i]}})));
      return;
    }
    ways_.push_back(contraryOf(objectOf({{"type", textOf("object")}})));
    List names;
    for (const auto &[name, member] : *value.object()) {
      names.push_back(textOf(name));
      ways_.push_back(typed("object", {{"properties", objectOf({{name, Schema(false)}})}}));
      ways_.push_back(hasMember(name, contraryOf(objectOf({{"const", member}}))));
    }
    addMember(contraryOf(listed("enum", std::move(names))), Schema(true));
  }

  Result<void> named(const Schema &schema) {
    SINTER_ASSIGN(const List *values, doc_.listAt(schema, "enum"));
    List scalars, all;
    for (const jinja::Input &value : *values) {
      if (isScalar(value)) {
        scalars.push_back(value);
        continue;
      }
      Contraries others(doc_);
      others.differs(value);
      all.push_back(listed("anyOf", std::move(others.ways_)));
    }
    if (!scalars.empty())
      all.push_back(contraryOf(listed("enum", std::move(scalars))));
    ways_.push_back(all.size() == 1 ? std::move(all.front()) : listed("allOf", std::move(all)));
    return {};
  }

  // A count or a bound is failed beyond it.
  Result<void> bounds(const Schema &schema, std::string_view keyword, const Schema &value) {
    struct Count {
      std::string_view keyword;
      const char *type, *beyond;
      bool isLeast;
    };
    constexpr Count kCounts[] = {
        {"minLength", "string", "maxLength", true},
        {"maxLength", "string", "minLength", false},
        {"minItems", "array", "maxItems", true},
        {"maxItems", "array", "minItems", false},
        {"minProperties", "object", "maxProperties", true},
        {"maxProperties", "object", "minProperties", false},
    };
    constexpr std::pair<std::string_view, const char *> kBounds[] = {
        {"minimum", "exclusiveMaximum"},
        {"maximum", "exclusiveMinimum"},
        {"exclusiveMinimum", "maximum"},
        {"exclusiveMaximum", "minimum"}};
    for (const Count &count : kCounts) {
      if (keyword != count.keyword)
        continue;
      SINTER_ASSIGN(const std::optional<uint32_t> number, doc_.countAt(schema, keyword));
      if (!count.isLeast || *number > 0)
        ways_.push_back(
            typed(count.type,
                  {{count.beyond, countOf(count.isLeast ? *number - 1 : size_t{*number} + 1)}}));
    }
    for (const auto &[bound, beyond] : kBounds)
      if (keyword == bound)
        ways_.push_back(typed("number", {{beyond, value}}));
    if (keyword == "multipleOf")
      ways_.push_back(typed("number", {{"not", objectOf({{std::string(keyword), value}})}}));
    return {};
  }

  Result<void> ofString(const Schema &schema, std::string_view keyword, const Schema &value) {
    if (keyword == "format") {
      SINTER_ASSIGN(const std::string *format, doc_.textAt(schema, keyword));
      if (!formatPattern(*format))
        return {};
    }
    if (keyword == "pattern" || keyword == "format")
      ways_.push_back(typed("string", {{"not", objectOf({{std::string(keyword), value}})}}));
    return {};
  }

  Result<void> ofArray(const Schema &schema, std::string_view keyword, const Schema &value) {
    if (keyword == "additionalItems" || (keyword == "items" && value.list()))
      return refuse(schema, keyword);
    if (keyword == "contains")
      return containing(schema, value);
    SINTER_ASSIGN(const List *prefix, doc_.listAt(schema, "prefixItems"));
    if (keyword == "prefixItems")
      for (size_t i = 0; i < prefix->size(); ++i)
        if (!isTrue((*prefix)[i]))
          ways_.push_back(itemFails(i, part(doc_, (*prefix)[i])));
    if (keyword == "items" && !isTrue(value))
      ways_.push_back(
          typed("array", {{"contains", contraryOfPart(value)},
                          {std::string(kAfter), countOf(prefix ? prefix->size() : 0)}}));
    return {};
  }

  Result<void> containing(const Schema &schema, const Schema &value) {
    SINTER_ASSIGN(const std::optional<uint32_t> least, doc_.countAt(schema, "minContains"));
    SINTER_ASSIGN(const std::optional<uint32_t> most, doc_.countAt(schema, "maxContains"));
    const uint32_t needed = least.value_or(1);
    if (needed > 0)
      ways_.push_back(typed("array", {{"contains", part(doc_, value)},
                                      {"minContains", countOf(0)},
                                      {"maxContains", countOf(needed - 1)}}));
    if (most)
      ways_.push_back(typed(
          "array", {{"contains", part(doc_, value)}, {"minContains", countOf(size_t{*most} + 1)}}));
    return {};
  }

  void addMember(Schema name, Schema value) {
    ways_.push_back(
        typed("object", {{std::string(kMember),
                          objectOf({{"name", std::move(name)}, {"value", std::move(value)}})}}));
  }

  Result<void> ofObject(const Schema &schema, std::string_view keyword, const Schema &value) {
    if (keyword == "required") {
      SINTER_ASSIGN(const List *names, doc_.listAt(schema, keyword));
      for (const Schema &name : *names) {
        SINTER_ASSIGN(Schema way, lacking(schema, keyword, name));
        ways_.push_back(std::move(way));
      }
    }
    if (keyword == "propertyNames" && !isTrue(value))
      addMember(contraryOfPart(value), Schema(true));
    if (keyword == "additionalProperties" && !isTrue(value))
      addMember(otherNames(schema), contraryOfPart(value));
    if (keyword != "properties" && keyword != "patternProperties")
      return {};
    SINTER_ASSIGN(const Object *properties, doc_.objectAt(schema, keyword));
    for (const auto &[name, member] : *properties) {
      if (isTrue(member))
        continue;
      if (keyword == "properties")
        ways_.push_back(hasMember(name, contraryOfPart(member)));
      else
        addMember(objectOf({{"pattern", textOf(name)}}), contraryOfPart(member));
    }
    return {};
  }

  // Names that neither properties nor patternProperties lists.
  static Schema otherNames(const Schema &schema) {
    List names, all;
    if (const Schema *properties = schema.find("properties"); properties && properties->object())
      for (const auto &[name, member] : *properties->object())
        names.push_back(textOf(name));
    if (!names.empty())
      all.push_back(contraryOf(listed("enum", std::move(names))));
    if (const Schema *patterns = schema.find("patternProperties"); patterns && patterns->object())
      for (const auto &[pattern, member] : *patterns->object())
        all.push_back(contraryOf(objectOf({{"pattern", textOf(pattern)}})));
    return listed("allOf", std::move(all));
  }

  const SchemaDocument &doc_;
  List ways_;
};

} // namespace

Result<List> contrariesOf(const SchemaDocument &document, const Schema &schema) {
  return Contraries(document).of(schema);
}

static bool isPlain(const std::string &keyword, const Schema &value, const Schema *type) {
  const std::string of = type && type->text() ? *type->text() : "";
  if (keyword == "enum")
    return value.list() && std::ranges::all_of(*value.list(), isScalar);
  if (keyword == "multipleOf")
    return of == "number" || of == "integer";
  if (keyword == "format")
    return of == "string" && value.text() && formatPattern(*value.text());
  return keyword == "type" || (keyword == "const" && isScalar(value)) ||
         (keyword == "pattern" && of == "string");
}

bool hasPlainContrary(const Schema &schema) {
  const Schema *no = schema.find("not");
  size_t count = 0;
  for (size_t i = 0; no && no->object() && i < no->object()->size(); ++i) {
    const auto &[keyword, value] = (*no->object())[i];
    if (keywordUse(keyword) == KeywordUse::Note)
      continue;
    ++count;
    if (!isPlain(keyword, value, schema.find("type")))
      return false;
  }
  return count == 1;
}

} // namespace sinter::grammar
