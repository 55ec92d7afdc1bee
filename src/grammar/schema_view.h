// One schema of a document: its keywords read with their types, errors with its place.
#pragma once

#include "grammar/schema_references.h"
#include "jinja/input.h"

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

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
  // The place as a JSON pointer: "#/properties/a"; shortened where it is long.
  std::string placeOf(const Schema &schema) const;
  // The same in every run for the same document.
  size_t numberOf(const Schema &schema) const { return nodes_.at(&schema).number; }
  // What a `$ref` of `schema` leads to: a place, an anchor or a resource of the document.
  Result<const Schema *> resolve(const Schema &schema, std::string_view reference) const;
  // What the `$ref` and `$dynamicRef` of `schema` lead to within the document.
  Result<std::vector<const Schema *>> referencesOf(const Schema &schema) const;

  Fail error(const Schema &schema, std::string_view keyword, std::string message,
             Code code = Code::InvalidArgument) const;
  // What its if, then, else, not and dependent* keywords say; null where it has none.
  Result<const Schema *> conditionsOf(const Schema &schema) const;
  // A schema that holds where this one does not.
  const Schema &contraryOf(const Schema &schema) const;
  // Keeps a schema that was made of others; of equal ones with the same owner the first.
  const Schema &keep(const Schema &owner, Schema made) const;
  bool isMade(const Schema &schema) const {
    const auto found = nodes_.find(&schema);
    return found != nodes_.end() && found->second.isMade;
  }
  // A keyword that no document has: only schemas that were made of others.
  const jinja::Input *ownKeyword(const Schema &schema, std::string_view keyword) const {
    return isMade(schema) ? schema.find(keyword) : nullptr;
  }
  // Whether any schema has unevaluatedProperties or unevaluatedItems.
  bool hasUnevaluated() const { return hasUnevaluated_; }
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
  static constexpr size_t kMadeOfParent = SIZE_MAX; // as an index
  // A value of the document, schema or not. Keys are not copied: they may be long.
  struct Node {
    const jinja::Input *parent; // null: the root
    size_t number, index;       // of all, in order of notes; of a list's item
    const std::string *key;     // of a member; null: none
    bool isMade;
  };
  void note(const Schema &schema, const Schema *owner) const;

  const Schema *root_;
  SchemaReferences references_;
  bool hasUnevaluated_ = false;
  // Schemas that were made of others, when these were first met.
  mutable std::map<const Schema *, const Schema *> conditions_;
  mutable std::map<std::pair<const Schema *, std::string>, std::unique_ptr<const Schema>> kept_;
  mutable std::unordered_map<const jinja::Input *, Node> nodes_;
  mutable std::vector<const jinja::Input *> byNumber_;
};

uint32_t typeOf(const jinja::Input &value);

} // namespace sinter::grammar
