// oneOf: exactly one branch holds. Of branches that exclude each other that is said already.
#include "grammar/schema_compiler.h"

#include <algorithm>
#include <set>

namespace sinter::grammar {

// What is known of the values of schemas that hold together.
struct SchemaCompiler::Facts {
  uint32_t types = kAllTypes;
  std::optional<std::set<std::string>> values; // jsonKey() of those that they name
  std::set<std::string> required;
  std::map<std::string, SchemaSet> properties;
  // Names of schemas that allow no others, and names that are allowed by none.
  std::vector<std::set<std::string>> closed;
  std::set<std::string> forbidden;

  bool forbids(const std::string &name) const {
    return forbidden.contains(name) ||
           std::ranges::any_of(closed, [&](const auto &names) { return !names.contains(name); });
  }
  bool forbidsAnyOf(const std::set<std::string> &names) const {
    return std::ranges::any_of(names, [&](const std::string &name) { return forbids(name); });
  }
};

static bool isFalse(const Schema *schema) {
  const bool *truth = schema ? std::get_if<bool>(&schema->content()) : nullptr;
  return truth && !*truth;
}

static void addNamedValues(const Schema &schema, std::optional<std::set<std::string>> &values) {
  const jinja::Input *one = schema.find("const"), *several = schema.find("enum");
  if (values || (!one && !(several && several->list())))
    return;
  values.emplace();
  const jinja::Input::List single = one ? jinja::Input::List{*one} : jinja::Input::List{};
  for (const jinja::Input &value : one ? single : *several->list())
    values->insert(jsonKey(value));
}

Result<SchemaCompiler::Facts> SchemaCompiler::factsOf(const SchemaSet &schemas) const {
  Facts facts;
  SINTER_ASSIGN(const SchemaSet all, flat(schemas));
  SINTER_ASSIGN(facts.types, typesOf(all));
  for (const Schema *schema : all) {
    addNamedValues(*schema, facts.values);
    SINTER_ASSIGN(const jinja::Input::List *required, doc_.listAt(*schema, "required"));
    for (size_t i = 0; required && i < required->size(); ++i)
      if (const std::string *name = (*required)[i].text())
        facts.required.insert(*name);
    SINTER_ASSIGN(const jinja::Input::Object *properties, doc_.objectAt(*schema, "properties"));
    std::set<std::string> names;
    for (size_t i = 0; properties && i < properties->size(); ++i) {
      const auto &[name, value] = (*properties)[i];
      names.insert(name);
      facts.properties[name].push_back(&value);
      if (isFalse(&value))
        facts.forbidden.insert(name);
    }
    if (isFalse(schema->find("additionalProperties")) && !schema->find("patternProperties"))
      facts.closed.push_back(std::move(names));
  }
  return facts;
}

static bool areApart(uint32_t types, const std::optional<std::set<std::string>> &left,
                     const std::optional<std::set<std::string>> &right) {
  return types == 0 || (left && right && std::ranges::none_of(*left, [&](const std::string &value) {
                          return right->contains(value);
                        }));
}

// By their types, by the values they name, by a property that one requires and the other does not
// allow, or by the values of one that both require.
Result<bool> SchemaCompiler::exclude(const Facts &left, const Facts &right) const {
  if (areApart(left.types & right.types, left.values, right.values))
    return true;
  if ((left.types & right.types) != kObject)
    return false;
  if (left.forbidsAnyOf(right.required) || right.forbidsAnyOf(left.required))
    return true;
  for (const std::string &name : left.required) {
    const auto one = left.properties.find(name), other = right.properties.find(name);
    if (one == left.properties.end() || other == right.properties.end() ||
        !right.required.contains(name))
      continue;
    SINTER_ASSIGN(const Facts a, factsOf(one->second));
    SINTER_ASSIGN(const Facts b, factsOf(other->second));
    if (areApart(a.types & b.types, a.values, b.values))
      return true;
  }
  return false;
}

// Of each branch the others that may hold, too.
Result<std::vector<std::vector<size_t>>>
SchemaCompiler::overlaps(const Schema &owner, const jinja::Input::List &list) const {
  constexpr size_t kMostBranches = 256;
  if (list.size() > kMostBranches)
    return doc_.error(owner, "oneOf",
                      "it has " + std::to_string(list.size()) + " branches, expected at most " +
                          std::to_string(kMostBranches) + "; anyOf may have more",
                      Code::Unsupported);
  std::vector<Facts> facts;
  for (const Schema &branch : list) {
    SINTER_ASSIGN(Facts of, factsOf({&branch}));
    facts.push_back(std::move(of));
  }
  std::vector<std::vector<size_t>> overlapping(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      SINTER_ASSIGN(const bool apart, exclude(facts[j], facts[i]));
      if (apart)
        continue;
      overlapping[i].push_back(j);
      overlapping[j].push_back(i);
    }
  }
  return overlapping;
}

} // namespace sinter::grammar
