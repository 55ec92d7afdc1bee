// From schemas to rules: one rule for each set of schemas that a value must satisfy together.
#pragma once

#include "grammar/automaton.h"
#include "grammar/json_number.h"
#include "grammar/json_text.h"
#include "grammar/schema_view.h"

#include <deque>

namespace sinter::grammar {

// Schemas that hold together: references followed, allOf taken apart; each once.
using SchemaSet = std::vector<const Schema *>;

class SchemaCompiler {
public:
  SchemaCompiler(const SchemaDocument &document, Grammar &grammar, ValueWriting writing = {})
      : doc_(document), g_(grammar), text_(grammar, std::move(writing)) {}

  // The root's expression; compiles all that it leads to.
  Result<ExprId> compile();
  // Values that the schemas allow apart from their enum and const.
  Result<ExprId> compileWithoutLiterals(const SchemaSet &all);

private:
  static constexpr size_t kMostRules = 4'000;
  static constexpr size_t kMostLiterals = 10'000; // of one enum
  static constexpr size_t kMostTogether = 1'000;  // schemas
  static constexpr size_t kMostStates = 4'096;    // of an array's items so far

  // `chosen`: lists of anyOf and oneOf; branches of each are in `all` already.
  struct Task {
    SchemaSet all;
    std::vector<const jinja::Input *> chosen = {};
    bool isRoot = false; // the value is no part of another
    auto key() const { return std::tuple(all, chosen, isRoot); }
  };
  // What `not` takes away; schemas that it has.
  struct Excluded {
    uint32_t types = 0;
    SchemaSet values, texts, multiples; // by enum and const, by pattern and format, by multipleOf
  };
  using Texts = std::vector<std::string>;

  Result<ExprId> value(Task task);
  Result<ExprId> valueOf(const SchemaSet &schemas); // not yet flat
  Result<SchemaSet> flat(SchemaSet schemas) const;
  Result<void> drain();

  Result<ExprId> body(const Task &task);
  Result<std::optional<std::vector<Task>>> split(const Task &task) const;
  Result<std::vector<Task>> branches(const Task &task, const Schema &owner,
                                     std::string_view keyword) const;
  Result<ExprId> plain(const Task &task);
  Result<ExprId> ofTypes(const Task &task, uint32_t types, const Excluded &excluded);
  Result<std::optional<Texts>> literals(const SchemaSet &all) const;
  Result<Texts> literalsOf(const SchemaSet &all, const Schema &source,
                           const jinja::Input::List &candidates) const;
  Result<std::optional<Texts>> finiteValues(const SchemaSet &schemas) const;
  Result<Excluded> excludedBy(const SchemaSet &all) const;
  Result<uint32_t> typesOf(const SchemaSet &all) const;
  // What has the values that satisfy the schemas; null where there is none.
  using Matcher = std::unique_ptr<Automaton>;
  Result<Matcher> matcherOf(const SchemaSet &schemas) const;
  static Result<Matcher> matcherOf(Grammar grammar);
  static Result<bool> matches(const Matcher &matcher, std::string_view text);

  struct Facts;
  Result<Facts> factsOf(const SchemaSet &schemas) const;
  Result<bool> exclude(const Facts &left, const Facts &right) const;
  Result<std::vector<std::vector<size_t>>> overlaps(const Schema &owner,
                                                    const jinja::Input::List &list) const;

  // What schemas that hold together evaluate from one of them on.
  struct Evaluated {
    bool allNames = false, allItems = false;
    Texts names, patterns;
    size_t items = 0;   // the first ones
    SchemaSet contains; // items that satisfy one
  };
  Result<Evaluated> evaluatedFrom(const SchemaSet &all, const Schema &owner) const;
  void addEvaluated(const Schema &owner, const Schema &schema, Evaluated &evaluated) const;
  Result<void> addUnevaluated(SchemaSet &all) const;
  Schema unevaluatedNames(const Evaluated &evaluated, const Schema &rule) const;
  Schema unevaluatedItems(const Evaluated &evaluated, const Schema &rule) const;

  Result<ExprId> number(const SchemaSet &all, uint32_t types, const Excluded &excluded);
  Result<void> addBounds(const SchemaSet &all, NumberRule &rule) const;
  Result<void> addMultiple(const Schema &schema, std::vector<Multiple> &multiples) const;
  Result<void> addExcludedNumbers(const Excluded &excluded, NumberRule &rule) const;
  Result<ExprId> string(const SchemaSet &all, const Excluded &excluded);
  Result<ExprId> stringContent(const SchemaSet &all);
  Result<void> addPatterns(const Schema &schema, std::vector<ExprId> &parts);

  // Items that `contains` counts.
  struct ItemCount {
    const Schema *schema;
    uint32_t least, most, after; // from this item on
  };
  struct ArrayShape {
    uint32_t least = 0, most = kUnbounded;
    const Schema *unique = nullptr; // one that has it
    size_t prefix = 0;
    std::vector<ItemCount> counts;
  };
  struct ItemWay {
    SchemaSet counted;
    std::vector<uint32_t> state;
  };
  Result<ExprId> array(const SchemaSet &all);
  Result<ArrayShape> arrayShapeOf(const SchemaSet &all) const;
  Result<ExprId> arrayItem(const SchemaSet &all, size_t index);
  ExprId bracketed(ExprId items);
  Result<ExprId> uniqueArray(const SchemaSet &all, const ArrayShape &shape);
  Result<ExprId> countedArray(const SchemaSet &all, const ArrayShape &shape);
  std::vector<ItemWay> waysToCount(const ArrayShape &shape,
                                   const std::vector<uint32_t> &state) const;

  // A member that there must be.
  struct Member {
    const Schema *name, *value;
  };
  // An object's members.
  struct Shape {
    Texts names; // in order
    Texts required;
    std::vector<std::pair<std::string, SchemaSet>> patterns; // with those that have them
    SchemaSet nameRules;                                     // propertyNames
    std::optional<Member> member;
    uint32_t least = 0, most = kUnbounded;
  };
  class ObjectWriter;
  Result<ExprId> object(const SchemaSet &all, const ObjectWriting &writing);
  Result<Shape> shapeOf(const SchemaSet &all) const;
  Result<void> addNames(const Schema &schema, Shape &shape) const;
  Result<void> addMember(const Schema &schema, Shape &shape) const;
  Result<SchemaSet> propertySchemas(const SchemaSet &all, const std::string &name);
  Result<bool> hasPattern(const Schema &owner, const std::string &pattern, const std::string &name);
  Result<std::optional<ExprId>> otherMember(const SchemaSet &all, const Shape &shape,
                                            const Member *member, const ObjectWriting &writing);
  Result<std::optional<SchemaSet>> schemasOfKind(const SchemaSet &all, const Shape &shape,
                                                 size_t kind) const;
  Result<ExprId> keyOf(const Shape &shape, const Member *member, ExprId key,
                       const ObjectWriting &writing);
  ExprId member(ExprId key, ExprId value, const ObjectWriting &writing);
  const Schema &anyText() const;

  const SchemaDocument &doc_;
  Grammar &g_;
  JsonText text_;
  std::map<std::tuple<SchemaSet, std::vector<const jinja::Input *>, bool>, RuleId> rules_;
  std::deque<std::pair<RuleId, Task>> open_;
  std::map<std::string, Matcher> patterns_;
};

} // namespace sinter::grammar
