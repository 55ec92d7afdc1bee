// From schemas to rules: one rule for each set of schemas that a value must satisfy together.
#pragma once

#include "grammar/json_number.h"
#include "grammar/json_text.h"
#include "grammar/schema_view.h"

#include <deque>

namespace sinter::grammar {

// Schemas that hold together: references followed, allOf taken apart; each once.
using SchemaSet = std::vector<const Schema *>;

class SchemaCompiler {
public:
  SchemaCompiler(const SchemaDocument &document, Grammar &grammar)
      : doc_(document), g_(grammar), text_(grammar) {}

  // The root's expression; compiles all that it leads to.
  Result<ExprId> compile();
  // Values of these types that the schemas allow apart from their enum and const.
  Result<ExprId> compileWithoutLiterals(const SchemaSet &all, uint32_t types);

private:
  static constexpr size_t kMostRules = 4'000;
  static constexpr size_t kMostLiterals = 10'000; // of one enum

  // `chosen`: lists of anyOf and oneOf; one branch of each is in `all` already.
  struct Task {
    SchemaSet all;
    std::vector<const jinja::Input *> chosen;
    auto key() const { return std::pair(all, chosen); }
  };
  // What `not` takes away.
  struct Excluded {
    uint32_t types = 0;
    std::vector<const jinja::Input *> values;
  };

  Result<ExprId> value(SchemaSet all, std::vector<const jinja::Input *> chosen = {});
  Result<ExprId> valueOf(const SchemaSet &schemas); // not yet flat
  Result<SchemaSet> flat(SchemaSet schemas) const;
  Result<void> drain();

  Result<ExprId> body(const Task &task);
  Result<ExprId> branches(const Task &task, const Schema &owner, std::string_view keyword);
  Result<ExprId> plain(const SchemaSet &all);
  Result<ExprId> ofTypes(const SchemaSet &all, uint32_t types, const Excluded &excluded);
  Result<std::optional<std::vector<std::string>>> literals(const SchemaSet &all) const;
  Result<std::vector<std::string>> literalsOf(const SchemaSet &all, uint32_t types,
                                              const Excluded &excluded, const Schema &source,
                                              const jinja::Input::List &candidates) const;
  Result<bool> allows(const SchemaSet &all, uint32_t types, const jinja::Input &value) const;
  Result<Excluded> excludedBy(const SchemaSet &all) const;
  Result<void> addExcluded(const Schema &schema, Excluded &excluded) const;

  Result<void> checkExclusive(const Schema &owner, const jinja::Input::List &list) const;
  Result<bool> exclude(const Schema &a, const Schema &b) const;
  Result<uint32_t> typesOf(const SchemaSet &all) const;

  Result<ExprId> number(const SchemaSet &all, bool isInteger);
  Result<void> addMultiple(const Schema &schema, NumberRule &rule) const;
  Result<ExprId> string(const SchemaSet &all, const Excluded &excluded);
  Result<ExprId> stringContent(const SchemaSet &all);
  Result<ExprId> array(const SchemaSet &all);
  Result<ExprId> arrayItem(const SchemaSet &all, size_t index);
  Result<ExprId> uniqueArray(const SchemaSet &all, const Schema &owner, uint32_t least,
                             uint32_t most);

  // An object's members.
  struct Shape {
    std::vector<std::string> names; // in order
    std::vector<std::string> required;
    std::vector<std::pair<std::string, const Schema *>> patterns; // of all schemas
    SchemaSet nameRules;                                          // propertyNames
    uint32_t least = 0, most = kUnbounded;
  };
  Result<ExprId> object(const SchemaSet &all);
  Result<Shape> shapeOf(const SchemaSet &all) const;
  Result<ExprId> propertyValue(const SchemaSet &all, const std::string &name);
  Result<ExprId> keyContent(const Shape &shape, ExprId content);
  Result<std::optional<ExprId>> otherMember(const SchemaSet &all, const Shape &shape);
  ExprId member(ExprId keyContent, ExprId value);

  const SchemaDocument &doc_;
  Grammar &g_;
  JsonText text_;
  std::map<std::pair<SchemaSet, std::vector<const jinja::Input *>>, RuleId> rules_;
  std::deque<std::pair<RuleId, Task>> open_;
};

} // namespace sinter::grammar
