// oneOf: exactly one branch holds. A grammar can say that only of branches that exclude each other.
#include "grammar/schema_compiler.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

// Values that the schemas name; nothing where they name none.
std::optional<jinja::Input::List> namedValues(const SchemaSet &all) {
  for (const Schema *schema : all) {
    if (const jinja::Input *found = schema->find("const"))
      return jinja::Input::List{*found};
    if (const jinja::Input *found = schema->find("enum"); found && found->list())
      return *found->list();
  }
  return std::nullopt;
}

bool share(const jinja::Input::List &a, const jinja::Input::List &b) {
  return std::ranges::any_of(a, [&](const jinja::Input &left) {
    return std::ranges::any_of(b,
                               [&](const jinja::Input &right) { return jsonEqual(left, right); });
  });
}

bool isRequired(const SchemaSet &all, const std::string &name) {
  return std::ranges::any_of(all, [&](const Schema *schema) {
    const jinja::Input *required = schema->find("required");
    return required && required->list() &&
           std::ranges::any_of(*required->list(), [&](const jinja::Input &item) {
             return item.text() && *item.text() == name;
           });
  });
}

// A property's schemas by its name.
std::map<std::string, SchemaSet> propertiesOf(const SchemaSet &all) {
  std::map<std::string, SchemaSet> found;
  for (const Schema *schema : all)
    if (const jinja::Input *properties = schema->find("properties");
        properties && properties->object())
      for (const auto &[name, value] : *properties->object())
        found[name].push_back(&value);
  return found;
}

} // namespace

// By their types, by the values they name, or by those of a property that both require.
Result<bool> SchemaCompiler::exclude(const Schema &a, const Schema &b) const {
  SINTER_ASSIGN(const SchemaSet left, flat({&a}));
  SINTER_ASSIGN(const SchemaSet right, flat({&b}));
  SINTER_ASSIGN(const uint32_t leftTypes, typesOf(left));
  SINTER_ASSIGN(const uint32_t rightTypes, typesOf(right));
  if ((leftTypes & rightTypes) == 0)
    return true;
  const auto leftValues = namedValues(left), rightValues = namedValues(right);
  if (leftValues && rightValues)
    return !share(*leftValues, *rightValues);
  if ((leftTypes & rightTypes) != kObject)
    return false;
  const std::map<std::string, SchemaSet> others = propertiesOf(right);
  for (const auto &[name, schemas] : propertiesOf(left)) {
    const auto found = others.find(name);
    if (found == others.end() || !isRequired(left, name) || !isRequired(right, name))
      continue;
    SINTER_ASSIGN(const SchemaSet one, flat(schemas));
    SINTER_ASSIGN(const SchemaSet other, flat(found->second));
    SINTER_ASSIGN(const uint32_t oneTypes, typesOf(one));
    SINTER_ASSIGN(const uint32_t otherTypes, typesOf(other));
    const auto oneValues = namedValues(one), otherValues = namedValues(other);
    if ((oneTypes & otherTypes) == 0 ||
        (oneValues && otherValues && !share(*oneValues, *otherValues)))
      return true;
  }
  return false;
}

Result<void> SchemaCompiler::checkExclusive(const Schema &owner,
                                            const jinja::Input::List &list) const {
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      SINTER_ASSIGN(const bool apart, exclude(list[j], list[i]));
      if (!apart)
        return doc_.error(owner, "oneOf",
                          "branches " + std::to_string(j) + " and " + std::to_string(i) +
                              " may both hold; give them different types or a property with "
                              "different values, or use anyOf",
                          Code::Unsupported);
    }
  }
  return {};
}

} // namespace sinter::grammar
