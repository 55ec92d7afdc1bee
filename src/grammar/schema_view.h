// One schema of a document: its keywords read with their types, errors with its place.
#pragma once

#include "jinja/input.h"

#include <map>
#include <memory>
#include <optional>

namespace sinter::grammar {

using Schema = jinja::Input; // an object, true or false

// The types of JSON as bits; integers are among the numbers and stand apart, too.
enum JsonType : uint32_t {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kFraction = 8, // numbers that are no integers
  kString = 16,
  kArray = 32,
  kObject = 64,
  kAllTypes = 127,
};

// For one thread.
class SchemaDocument {
public:
  explicit SchemaDocument(const Schema &root);

  const Schema &root() const { return *root_; }
  // The place as a JSON pointer: "#/properties/a".
  const std::string &placeOf(const Schema &schema) const;
  // What a `$ref` or `$dynamicRef` of `schema` leads to: a place or an anchor of the document.
  Result<const Schema *> resolve(const Schema &schema, std::string_view reference) const;

  Fail error(const Schema &schema, std::string_view keyword, std::string message,
             Code code = Code::InvalidArgument) const;
  // What its if, then, else and dependent* keywords say; null where it has none.
  Result<const Schema *> conditionsOf(const Schema &schema) const;
  // That it is a schema, and has no keyword that is refused.
  Result<void> check(const Schema &schema) const;

  // Nothing where the keyword is absent; InvalidArgument where it has another type.
  Result<const jinja::Input::List *> listAt(const Schema &schema, std::string_view keyword) const;
  Result<const jinja::Input::Object *> objectAt(const Schema &schema,
                                                std::string_view keyword) const;
  Result<const std::string *> textAt(const Schema &schema, std::string_view keyword) const;
  Result<std::optional<double>> numberAt(const Schema &schema, std::string_view keyword) const;
  // A whole number from 0 to kMostCount of the scanner.
  Result<std::optional<uint32_t>> countAt(const Schema &schema, std::string_view keyword) const;
  Result<bool> flagAt(const Schema &schema, std::string_view keyword) const;
  // All types where the keyword is absent.
  Result<uint32_t> typesAt(const Schema &schema) const;

private:
  void note(const Schema &schema, std::string place) const;
  Result<const Schema *> anchored(const Schema &schema, std::string_view reference) const;

  const Schema *root_;
  std::multimap<std::string, const Schema *> anchors_;
  // Schemas that were made of others, when these were first met.
  mutable std::map<const Schema *, std::unique_ptr<const Schema>> conditions_;
  mutable std::map<const Schema *, std::string> places_;
};

uint32_t typeOf(const jinja::Input &value);

} // namespace sinter::grammar
