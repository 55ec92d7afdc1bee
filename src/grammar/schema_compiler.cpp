// Sets of schemas become rules when they are first met, and bodies of rules in turn: no recursion.
#include "grammar/schema_compiler.h"

#include "grammar/automaton.h"
#include "grammar/json_schema.h"
#include "grammar/schema_keywords.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

constexpr std::string_view kUnions[] = {"anyOf", "oneOf"};

bool isFalse(const Schema &schema) {
  const bool *truth = std::get_if<bool>(&schema.content());
  return truth && !*truth;
}

const jinja::Input::List *namedBy(const Schema &schema, jinja::Input::List &one) {
  if (const jinja::Input *found = schema.find("const")) {
    one = {*found};
    return &one;
  }
  const jinja::Input *found = schema.find("enum");
  return found ? found->list() : nullptr;
}

bool contains(const jinja::Input::List &list, const jinja::Input &value) {
  return std::ranges::any_of(list,
                             [&](const jinja::Input &item) { return jsonEqual(item, value); });
}

} // namespace

Result<ExprId> SchemaCompiler::compile() {
  SINTER_ASSIGN(const ExprId root, valueOf({&doc_.root()}));
  SINTER_TRY(drain());
  return root;
}

Result<ExprId> SchemaCompiler::compileWithoutLiterals(const SchemaSet &all, uint32_t types) {
  SINTER_ASSIGN(const ExprId root, ofTypes(all, types, {}));
  SINTER_TRY(drain());
  return root;
}

Result<void> SchemaCompiler::drain() {
  while (!open_.empty()) {
    const auto [rule, task] = std::move(open_.front());
    open_.pop_front();
    SINTER_ASSIGN(const ExprId made, body(task));
    g_.define(rule, made);
  }
  return {};
}

// References and allOf, with what stands beside them; a schema that leads to itself counts once.
Result<SchemaSet> SchemaCompiler::flat(SchemaSet open) const {
  SchemaSet all;
  while (!open.empty()) {
    const Schema *schema = open.back();
    open.pop_back();
    if (std::ranges::find(all, schema) != all.end())
      continue;
    SINTER_TRY(doc_.check(*schema));
    all.push_back(schema);
    for (const std::string_view keyword : {"$ref", "$dynamicRef"}) {
      SINTER_ASSIGN(const std::string *reference, doc_.textAt(*schema, keyword));
      if (!reference)
        continue;
      SINTER_ASSIGN(const Schema *target, doc_.resolve(*schema, *reference));
      open.push_back(target);
    }
    SINTER_ASSIGN(const Schema *conditions, doc_.conditionsOf(*schema));
    if (conditions)
      open.push_back(conditions);
    SINTER_ASSIGN(const jinja::Input::List *parts, doc_.listAt(*schema, "allOf"));
    for (size_t i = 0; parts && i < parts->size(); ++i)
      open.push_back(&(*parts)[i]);
  }
  // By place, so that rules are the same in every run.
  std::ranges::sort(all, {}, [&](const Schema *schema) { return doc_.placeOf(*schema); });
  return all;
}

Result<ExprId> SchemaCompiler::valueOf(const SchemaSet &schemas) {
  SINTER_ASSIGN(SchemaSet all, flat(schemas));
  return value(std::move(all));
}

Result<ExprId> SchemaCompiler::value(SchemaSet all, std::vector<const jinja::Input *> chosen) {
  Task task{std::move(all), std::move(chosen)};
  const auto found = rules_.find(task.key());
  if (found != rules_.end())
    return g_.call(found->second);
  if (rules_.size() == kMostRules)
    return fail(Code::Unsupported, "schema: it has more than " + std::to_string(kMostRules) +
                                       " combinations of branches");
  const RuleId rule = g_.declare(task.all.empty() ? "value" : doc_.placeOf(*task.all.front()));
  rules_.emplace(task.key(), rule);
  open_.emplace_back(rule, std::move(task));
  return g_.call(rule);
}

Result<ExprId> SchemaCompiler::body(const Task &task) {
  for (const Schema *schema : task.all) {
    if (isFalse(*schema))
      return g_.choice({});
    for (const std::string_view keyword : kUnions) {
      const jinja::Input *list = schema->find(keyword);
      if (list && std::ranges::find(task.chosen, list) == task.chosen.end())
        return branches(task, *schema, keyword);
    }
  }
  return plain(task.all);
}

Result<ExprId> SchemaCompiler::branches(const Task &task, const Schema &owner,
                                        std::string_view keyword) {
  SINTER_ASSIGN(const jinja::Input::List *list, doc_.listAt(owner, keyword));
  if (keyword == "oneOf")
    SINTER_TRY(checkExclusive(owner, *list));
  std::vector<const jinja::Input *> chosen = task.chosen;
  chosen.push_back(owner.find(keyword));
  std::vector<ExprId> ways;
  for (const Schema &branch : *list) {
    SchemaSet with = task.all;
    with.push_back(&branch);
    SINTER_ASSIGN(SchemaSet all, flat(std::move(with)));
    SINTER_ASSIGN(const ExprId way, value(std::move(all), chosen));
    ways.push_back(way);
  }
  return g_.choice(ways);
}

Result<uint32_t> SchemaCompiler::typesOf(const SchemaSet &all) const {
  uint32_t types = kAllTypes;
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const uint32_t allowed, doc_.typesAt(*schema));
    types &= isFalse(*schema) ? 0 : allowed;
  }
  return types;
}

Result<void> SchemaCompiler::addExcluded(const Schema &schema, Excluded &excluded) const {
  const Schema *found = schema.find("not");
  if (!found || isFalse(*found))
    return {};
  SINTER_TRY(doc_.check(*found));
  const Fail refusal = doc_.error(schema, "not",
                                  "only a type, or strings, true, false and null as enum or const, "
                                  "can be taken away",
                                  Code::Unsupported);
  SINTER_ASSIGN(const uint32_t types, doc_.typesAt(*found));
  const jinja::Input::Object none, *keywords = found->object() ? found->object() : &none;
  const jinja::Input *values = nullptr;
  for (const auto &[keyword, value] : *keywords) {
    if (keyword == "const" || keyword == "enum")
      values = &value;
    else if (keyword != "type" && keywordUse(keyword) != KeywordUse::Note)
      return refusal;
  }
  if (!values) {
    if ((types & kInteger) && !(types & kFraction))
      return doc_.error(schema, "not", "numbers that are no whole ones are not supported",
                        Code::Unsupported);
    excluded.types |= types;
    return {};
  }
  const jinja::Input::List one{*values};
  const bool isList = found->find("enum") && values->list();
  for (const jinja::Input &value : isList ? *values->list() : one)
    if (typeOf(value) & ~(kString | kBoolean | kNull))
      return refusal;
  excluded.values.push_back(found);
  return {};
}

Result<SchemaCompiler::Excluded> SchemaCompiler::excludedBy(const SchemaSet &all) const {
  Excluded excluded;
  for (const Schema *schema : all)
    SINTER_TRY(addExcluded(*schema, excluded));
  return excluded;
}

// Writings of the values that an enum or const leaves; nothing where there is none.
Result<std::optional<std::vector<std::string>>>
SchemaCompiler::literals(const SchemaSet &all) const {
  SINTER_ASSIGN(const uint32_t types, typesOf(all));
  SINTER_ASSIGN(const Excluded excluded, excludedBy(all));
  for (const Schema *schema : all) {
    SINTER_TRY(doc_.listAt(*schema, "enum"));
    jinja::Input::List one;
    if (const jinja::Input::List *candidates = namedBy(*schema, one))
      return literalsOf(all, types & ~excluded.types, excluded, *schema, *candidates);
  }
  return std::nullopt;
}

Result<ExprId> SchemaCompiler::plain(const SchemaSet &all) {
  SINTER_ASSIGN(const auto named, literals(all));
  if (named) {
    std::vector<ExprId> ways;
    for (const std::string &text : *named)
      ways.push_back(g_.text(text));
    return g_.choice(ways);
  }
  SINTER_ASSIGN(const uint32_t types, typesOf(all));
  SINTER_ASSIGN(const Excluded excluded, excludedBy(all));
  return ofTypes(all, types & ~excluded.types, excluded);
}

// Those of `source`, the first with an enum, that all other schemas allow.
Result<std::vector<std::string>>
SchemaCompiler::literalsOf(const SchemaSet &all, uint32_t types, const Excluded &excluded,
                           const Schema &source, const jinja::Input::List &candidates) const {
  const auto isNamed = [&](const Schema *schema, const jinja::Input &value) {
    jinja::Input::List one;
    const jinja::Input::List *list = namedBy(*schema, one);
    return list && contains(*list, value);
  };
  const auto isRefused = [&](const Schema *schema, const jinja::Input &value) {
    if (schema == &source) // all candidates are its own
      return false;
    jinja::Input::List one;
    const jinja::Input::List *list = namedBy(*schema, one);
    return list && !contains(*list, value);
  };
  if (candidates.size() > kMostLiterals)
    return doc_.error(source, "enum",
                      "it has " + std::to_string(candidates.size()) + " values, expected at most " +
                          std::to_string(kMostLiterals),
                      Code::Unsupported);
  std::vector<std::string> texts;
  for (const jinja::Input &value : candidates) {
    const bool isOut =
        (typeOf(value) & types) == 0 ||
        std::ranges::any_of(all, [&](const Schema *s) { return isRefused(s, value); }) ||
        std::ranges::any_of(excluded.values, [&](const Schema *s) { return isNamed(s, value); });
    if (isOut)
      continue;
    SINTER_ASSIGN(const bool allowed, allows(all, types, value));
    if (allowed)
      texts.push_back(jsonLiteral(value));
  }
  return texts;
}

Result<bool> SchemaCompiler::allows(const SchemaSet &all, uint32_t types,
                                    const jinja::Input &value) const {
  Grammar grammar;
  SchemaCompiler other(doc_, grammar);
  SINTER_ASSIGN(const ExprId root, other.compileWithoutLiterals(all, types));
  grammar.setRoot(root);
  Result<std::unique_ptr<Automaton>> automaton = Automaton::create(std::move(grammar));
  if (!automaton)
    return automaton.error().code == Code::InvalidArgument
               ? Result<bool>(false)
               : Result<bool>(tl::unexpected(automaton.error()));
  SINTER_ASSIGN(const StateId end, (*automaton)->next((*automaton)->start(), jsonLiteral(value)));
  return end != kDead && (*automaton)->accepts(end);
}

Result<ExprId> SchemaCompiler::ofTypes(const SchemaSet &all, uint32_t types,
                                       const Excluded &excluded) {
  const auto isOut = [&](const jinja::Input &value) {
    return std::ranges::any_of(excluded.values, [&](const Schema *schema) {
      jinja::Input::List one;
      return contains(*namedBy(*schema, one), value);
    });
  };
  std::vector<ExprId> ways;
  const auto add = [&](Result<ExprId> way) -> Result<void> {
    SINTER_ASSIGN(const ExprId made, std::move(way));
    ways.push_back(made);
    return {};
  };
  if (types & kObject)
    SINTER_TRY(add(object(all)));
  if (types & kArray)
    SINTER_TRY(add(array(all)));
  if (types & kString)
    SINTER_TRY(add(string(all, excluded)));
  if (types & (kInteger | kFraction))
    SINTER_TRY(add(number(all, (types & kFraction) == 0)));
  if ((types & kBoolean) && !isOut(jinja::Input(true)))
    ways.push_back(g_.text("true"));
  if ((types & kBoolean) && !isOut(jinja::Input(false)))
    ways.push_back(g_.text("false"));
  if ((types & kNull) && !isOut(jinja::Input()))
    ways.push_back(g_.text("null"));
  return g_.choice(ways);
}

Result<ExprId> addJsonSchema(Grammar &grammar, const jinja::Input &schema) {
  const SchemaDocument document(schema);
  return SchemaCompiler(document, grammar).compile();
}

Result<Grammar> parseJsonSchema(const jinja::Input &schema) {
  Grammar grammar;
  SINTER_ASSIGN(const ExprId root, addJsonSchema(grammar, schema));
  grammar.setRoot(root);
  SINTER_TRY(grammar.check());
  if (!grammar.canMatch(root))
    return fail(Code::InvalidArgument, "schema: no value satisfies it");
  return grammar;
}

} // namespace sinter::grammar
