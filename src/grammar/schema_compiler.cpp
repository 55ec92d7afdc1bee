// Sets of schemas become rules when they are first met, and bodies of rules in turn: no recursion.
#include "grammar/schema_compiler.h"

#include "grammar/automaton.h"
#include "grammar/json_schema.h"
#include "grammar/schema_contraries.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>

namespace sinter::grammar {
namespace {

constexpr std::string_view kUnions[] = {"anyOf", "oneOf"};

bool isFalse(const Schema &schema) {
  const bool *truth = std::get_if<bool>(&schema.content());
  return truth && !*truth;
}

bool asksForEvaluated(const Schema *schema) {
  return schema->find("unevaluatedProperties") || schema->find("unevaluatedItems");
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

// The writing with the members that the schemas list in their order.
std::string inOrder(const jinja::Input &value, const std::vector<std::string> &names) {
  const jinja::Input::Object *members = value.object();
  if (!members)
    return jsonLiteral(value);
  jinja::Input::Object ordered;
  for (const std::string &name : names)
    if (const jinja::Input *member = value.find(name))
      ordered.emplace_back(name, *member);
  for (const auto &member : *members)
    if (std::ranges::find(names, member.first) == names.end())
      ordered.push_back(member);
  return jsonLiteral(jinja::Input(std::move(ordered)));
}

} // namespace

Result<ExprId> SchemaCompiler::compile() {
  SINTER_ASSIGN(SchemaSet all, flat({&doc_.root()}));
  SINTER_ASSIGN(const ExprId root, value({.all = std::move(all), .isRoot = true}));
  SINTER_TRY(drain());
  return root;
}

Result<ExprId> SchemaCompiler::compileWithoutLiterals(const SchemaSet &all) {
  SINTER_ASSIGN(const uint32_t types, typesOf(all));
  SINTER_ASSIGN(const Excluded excluded, excludedBy(all));
  SINTER_ASSIGN(const ExprId root, ofTypes({all}, types & ~excluded.types, excluded));
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

// References, allOf and conditions, with what stands beside them; a schema that leads to itself
// counts once.
Result<SchemaSet> SchemaCompiler::flat(SchemaSet open) const {
  SchemaSet all;
  while (!open.empty()) {
    const Schema *schema = open.back();
    open.pop_back();
    if (std::ranges::find(all, schema) != all.end())
      continue;
    if (all.size() == kMostTogether)
      return doc_.error(*schema, "allOf",
                        "more than " + std::to_string(kMostTogether) + " schemas hold together",
                        Code::Unsupported);
    SINTER_TRY(doc_.check(*schema));
    all.push_back(schema);
    SINTER_ASSIGN(const SchemaSet targets, doc_.referencesOf(*schema));
    open.insert(open.end(), targets.begin(), targets.end());
    SINTER_ASSIGN(const Schema *conditions, doc_.conditionsOf(*schema));
    if (conditions)
      open.push_back(conditions);
    SINTER_ASSIGN(const jinja::Input::List *parts, doc_.listAt(*schema, "allOf"));
    for (size_t i = 0; parts && i < parts->size(); ++i)
      open.push_back(&(*parts)[i]);
  }
  // So that rules are the same in every run.
  std::ranges::sort(all, {}, [&](const Schema *schema) { return doc_.numberOf(*schema); });
  return all;
}

Result<ExprId> SchemaCompiler::valueOf(const SchemaSet &schemas) {
  SINTER_ASSIGN(SchemaSet all, flat(schemas));
  return value({std::move(all)});
}

Result<ExprId> SchemaCompiler::value(Task task) {
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
  SINTER_ASSIGN(auto tasks, split(task));
  if (!tasks)
    return plain(task);
  std::vector<ExprId> ways;
  for (Task &each : *tasks) {
    SINTER_ASSIGN(const ExprId way, value(std::move(each)));
    ways.push_back(way);
  }
  return g_.choice(ways);
}

// By the branches of one union; nothing where none is left.
Result<std::optional<std::vector<SchemaCompiler::Task>>>
SchemaCompiler::split(const Task &task) const {
  if (std::ranges::any_of(task.all, [](const Schema *schema) { return isFalse(*schema); }))
    return std::vector<Task>();
  for (const Schema *schema : task.all) {
    for (const std::string_view keyword : kUnions) {
      const jinja::Input *list = schema->find(keyword);
      if (list && std::ranges::find(task.chosen, list) == task.chosen.end())
        return branches(task, *schema, keyword);
    }
  }
  return std::nullopt;
}

// Of oneOf, what no other branch has. What several branches of anyOf evaluate together counts for
// unevaluatedProperties and unevaluatedItems, so there each set of branches stands for itself.
Result<std::vector<SchemaCompiler::Task>>
SchemaCompiler::branches(const Task &task, const Schema &owner, std::string_view keyword) const {
  constexpr size_t kMostSets = 64;
  SINTER_ASSIGN(const jinja::Input::List *list, doc_.listAt(owner, keyword));
  std::vector<const jinja::Input *> chosen = task.chosen;
  chosen.push_back(owner.find(keyword));
  std::vector<Task> tasks;
  const auto add = [&](SchemaSet with) -> Result<void> {
    with.insert(with.end(), task.all.begin(), task.all.end());
    SINTER_ASSIGN(SchemaSet all, flat(std::move(with)));
    tasks.push_back({std::move(all), chosen, task.isRoot});
    return {};
  };
  const bool countsSets = doc_.hasUnevaluated() && std::ranges::any_of(task.all, asksForEvaluated);
  if (keyword == "anyOf" && list->size() > 1 && countsSets && !doc_.isMade(owner)) {
    if (list->size() >= std::bit_width(kMostSets))
      return doc_.error(owner, keyword,
                        std::to_string(list->size()) +
                            " branches beside unevaluatedProperties or unevaluatedItems, expected "
                            "at most 6",
                        Code::Unsupported);
    for (size_t set = 1; set < size_t{1} << list->size(); ++set) {
      SchemaSet with;
      for (size_t i = 0; i < list->size(); ++i)
        if (set >> i & 1)
          with.push_back(&(*list)[i]);
      SINTER_TRY(add(std::move(with)));
    }
    return tasks;
  }
  std::vector<std::vector<size_t>> overlapping(list->size());
  if (keyword == "oneOf") {
    SINTER_ASSIGN(overlapping, overlaps(owner, *list));
  }
  for (size_t i = 0; i < list->size(); ++i) {
    SchemaSet with{&(*list)[i]};
    for (const size_t other : overlapping[i])
      with.push_back(&doc_.contraryOf((*list)[other]));
    SINTER_TRY(add(std::move(with)));
  }
  return tasks;
}

Result<uint32_t> SchemaCompiler::typesOf(const SchemaSet &all) const {
  uint32_t types = kAllTypes;
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const uint32_t allowed, doc_.typesAt(*schema));
    types &= isFalse(*schema) ? 0 : allowed;
  }
  return types;
}

// Other contraries are among the schemas already, as conditions.
Result<SchemaCompiler::Excluded> SchemaCompiler::excludedBy(const SchemaSet &all) const {
  Excluded excluded;
  for (const Schema *schema : all) {
    const Schema *found = schema->find("not");
    if (!hasPlainContrary(*schema))
      continue;
    if (found->find("type")) {
      SINTER_ASSIGN(const uint32_t types, doc_.typesAt(*found));
      excluded.types |= types;
    } else if (found->find("const") || found->find("enum")) {
      excluded.values.push_back(found);
    } else if (found->find("multipleOf")) {
      excluded.multiples.push_back(found);
    } else {
      excluded.texts.push_back(found);
    }
  }
  return excluded;
}

// Writings of the values that an enum or const leaves; nothing where there is none.
Result<std::optional<SchemaCompiler::Texts>> SchemaCompiler::literals(const SchemaSet &all) const {
  for (const Schema *schema : all) {
    SINTER_TRY(doc_.listAt(*schema, "enum"));
    jinja::Input::List one;
    if (const jinja::Input::List *candidates = namedBy(*schema, one))
      return literalsOf(all, *schema, *candidates);
  }
  return std::nullopt;
}

Result<ExprId> SchemaCompiler::plain(const Task &task) {
  SchemaSet all = task.all;
  SINTER_TRY(addUnevaluated(all));
  SINTER_ASSIGN(auto named, literals(all));
  if (named && task.isRoot && text_.writing().inner.open != text_.writing().root.open)
    return doc_.error(*all.front(), "enum", "it is not supported for all of a call's arguments",
                      Code::Unsupported);
  if (named)
    return textsExpr(g_, std::move(*named));
  SINTER_ASSIGN(const uint32_t types, typesOf(all));
  SINTER_ASSIGN(const Excluded excluded, excludedBy(all));
  return ofTypes({.all = std::move(all), .isRoot = task.isRoot}, types & ~excluded.types, excluded);
}

// Those of `source`, the first with an enum, that all schemas allow.
Result<SchemaCompiler::Texts>
SchemaCompiler::literalsOf(const SchemaSet &all, const Schema &source,
                           const jinja::Input::List &candidates) const {
  if (candidates.size() > kMostLiterals)
    return doc_.error(source, "enum",
                      "it has " + std::to_string(candidates.size()) + " values, expected at most " +
                          std::to_string(kMostLiterals),
                      Code::Unsupported);
  std::vector<std::set<std::string>> others; // that the values must be among, too
  for (const Schema *schema : all) {
    const jinja::Input *one = schema->find("const"), *several = schema->find("enum");
    const bool isSource = schema == &source; // by its const, where it has both
    if (one && !isSource)
      others.push_back({jsonKey(*one)});
    if (!several || !several->list() || (isSource && !one))
      continue;
    std::set<std::string> &keys = others.emplace_back();
    for (const jinja::Input &value : *several->list())
      keys.insert(jsonKey(value));
  }
  Grammar grammar;
  SchemaCompiler compiler(doc_, grammar);
  SINTER_ASSIGN(const ExprId root, compiler.compileWithoutLiterals(all));
  grammar.setRoot(root);
  SINTER_ASSIGN(const Matcher matcher, matcherOf(std::move(grammar)));
  SINTER_ASSIGN(const Shape shape, shapeOf(all));
  Texts texts;
  for (const jinja::Input &value : candidates) {
    const std::string key = others.empty() ? "" : jsonKey(value);
    if (std::ranges::any_of(others, [&](const auto &keys) { return !keys.contains(key); }))
      continue;
    SINTER_ASSIGN(const bool allowed, matches(matcher, inOrder(value, shape.names)));
    if (allowed)
      texts.push_back(text_.literalText(value));
  }
  return texts;
}

Result<SchemaCompiler::Matcher> SchemaCompiler::matcherOf(Grammar grammar) {
  Result<Matcher> automaton = Automaton::create(std::move(grammar));
  if (!automaton && automaton.error().code == Code::InvalidArgument)
    return nullptr;
  return automaton;
}

Result<SchemaCompiler::Matcher> SchemaCompiler::matcherOf(const SchemaSet &schemas) const {
  Grammar grammar;
  SchemaCompiler compiler(doc_, grammar);
  SINTER_ASSIGN(const ExprId root, compiler.valueOf(schemas));
  SINTER_TRY(compiler.drain());
  grammar.setRoot(root);
  return matcherOf(std::move(grammar));
}

Result<bool> SchemaCompiler::matches(const Matcher &matcher, std::string_view text) {
  if (!matcher)
    return false;
  SINTER_ASSIGN(const StateId end, matcher->next(matcher->start(), text));
  return end != kDead && matcher->accepts(end);
}

// All values, where they are few; nothing where they are not.
Result<std::optional<SchemaCompiler::Texts>>
SchemaCompiler::finiteValues(const SchemaSet &schemas) const {
  constexpr size_t kMostTasks = 256;
  SINTER_ASSIGN(SchemaSet first, flat(schemas));
  std::vector<Task> open;
  open.push_back({std::move(first), {}});
  const jinja::Input::List words{jinja::Input(), jinja::Input(true), jinja::Input(false)};
  std::set<std::string> values;
  for (size_t i = 0; i < open.size(); ++i) {
    const Task task = open[i];
    SINTER_ASSIGN(auto tasks, split(task));
    if (tasks) {
      if (open.size() + tasks->size() > kMostTasks)
        return std::nullopt;
      std::ranges::move(*tasks, std::back_inserter(open));
      continue;
    }
    SINTER_ASSIGN(std::optional<Texts> texts, literals(task.all));
    SINTER_ASSIGN(const uint32_t types, typesOf(task.all));
    if (!texts && (types & ~(kNull | kBoolean)))
      return std::nullopt;
    if (!texts) {
      SINTER_ASSIGN(texts, literalsOf(task.all, doc_.root(), words));
    }
    values.insert(texts->begin(), texts->end());
  }
  return Texts(values.begin(), values.end());
}

Result<ExprId> SchemaCompiler::ofTypes(const Task &task, uint32_t types, const Excluded &excluded) {
  const SchemaSet &all = task.all;
  const ValueWriting &writing = text_.writing();
  const auto isOut = [&](const jinja::Input &value) {
    return std::ranges::any_of(excluded.values, [&](const Schema *schema) {
      jinja::Input::List one;
      const jinja::Input::List *list = namedBy(*schema, one);
      return list && contains(*list, value);
    });
  };
  std::vector<ExprId> ways;
  const auto add = [&](Result<ExprId> way) -> Result<void> {
    SINTER_ASSIGN(const ExprId made, std::move(way));
    ways.push_back(made);
    return {};
  };
  if (types & kObject)
    SINTER_TRY(add(object(all, task.isRoot ? writing.root : writing.inner)));
  if (types & kArray)
    SINTER_TRY(add(array(all)));
  if (types & kString)
    SINTER_TRY(add(string(all, excluded)));
  if (types & (kInteger | kFraction))
    SINTER_TRY(add(number(all, types, excluded)));
  if ((types & kBoolean) && !isOut(jinja::Input(true)))
    ways.push_back(g_.text(writing.constants[0]));
  if ((types & kBoolean) && !isOut(jinja::Input(false)))
    ways.push_back(g_.text(writing.constants[1]));
  if ((types & kNull) && !isOut(jinja::Input()))
    ways.push_back(g_.text(writing.constants[2]));
  return g_.choice(ways);
}

Result<ExprId> addJsonSchema(Grammar &grammar, const jinja::Input &schema,
                             const ValueWriting &writing) {
  const SchemaDocument document(schema);
  return SchemaCompiler(document, grammar, writing).compile();
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
