// Arrays and objects that several schemas allow.
#include "grammar/automaton.h"
#include "grammar/regex.h"
#include "grammar/schema_compiler.h"

#include <algorithm>
#include <bit>

namespace sinter::grammar {
namespace {

// Patterns of names that can hold side by side: each name has or has not each of them.
constexpr size_t kMostPatterns = 4;

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::ranges::find(names, name) != names.end();
}

} // namespace

// prefixItems and what follows them; older drafts call those items and additionalItems.
static SchemaSet itemSchemas(const SchemaSet &all, size_t index) {
  SchemaSet schemas;
  for (const Schema *schema : all) {
    const jinja::Input *items = schema->find("items"), *prefix = schema->find("prefixItems");
    if (!prefix && items && items->list()) {
      prefix = items;
      items = schema->find("additionalItems");
    }
    if (prefix && prefix->list() && index < prefix->list()->size())
      schemas.push_back(&(*prefix->list())[index]);
    else if (items)
      schemas.push_back(items);
  }
  return schemas;
}

Result<ExprId> SchemaCompiler::arrayItem(const SchemaSet &all, size_t index) {
  return valueOf(itemSchemas(all, index));
}

// What follows depends on the items that came, so there may be few.
Result<ExprId> SchemaCompiler::uniqueArray(const SchemaSet &all, const Schema &owner,
                                           uint32_t least, uint32_t most) {
  constexpr size_t kMostValues = 8;
  SINTER_ASSIGN(const SchemaSet items, flat(itemSchemas(all, 0)));
  const bool isUnion = std::ranges::any_of(
      items, [](const Schema *schema) { return schema->find("anyOf") || schema->find("oneOf"); });
  SINTER_ASSIGN(const auto values, literals(items));
  if (isUnion || !values || values->size() > kMostValues)
    return doc_.error(owner, "uniqueItems",
                      "it is supported for items that an enum names, at most " +
                          std::to_string(kMostValues),
                      Code::Unsupported);
  const ExprId comma = g_.sequence({{text_.space(), g_.text(","), text_.space()}});
  std::vector<ExprId> after(size_t{1} << values->size()); // by the values that came, as bits
  for (size_t came = after.size(); came-- > 0;) {
    const auto count = static_cast<uint32_t>(std::popcount(came));
    std::vector<ExprId> ways;
    if (count >= least)
      ways.push_back(g_.empty());
    for (size_t i = 0; i < values->size() && count < most; ++i)
      if (!(came >> i & 1))
        ways.push_back(g_.sequence(
            {{came ? comma : g_.empty(), g_.text((*values)[i]), after[came | size_t{1} << i]}}));
    after[came] = g_.choice(ways);
  }
  return g_.sequence({{g_.text("["), text_.space(), after[0], text_.space(), g_.text("]")}});
}

Result<ExprId> SchemaCompiler::array(const SchemaSet &all) {
  uint32_t least = 0, most = kUnbounded;
  size_t prefix = 0;
  const Schema *unique = nullptr;
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const std::optional<uint32_t> minimum, doc_.countAt(*schema, "minItems"));
    SINTER_ASSIGN(const std::optional<uint32_t> maximum, doc_.countAt(*schema, "maxItems"));
    SINTER_ASSIGN(const bool isUnique, doc_.flagAt(*schema, "uniqueItems"));
    SINTER_TRY(doc_.listAt(*schema, "prefixItems"));
    unique = isUnique ? schema : unique;
    least = std::max(least, minimum.value_or(0));
    most = std::min(most, maximum.value_or(kUnbounded));
    for (const std::string_view keyword : {"prefixItems", "items"})
      if (const jinja::Input *list = schema->find(keyword); list && list->list())
        prefix = std::max(prefix, list->list()->size());
  }
  if (least > most)
    return g_.choice({});
  if (unique && most > 1 && prefix == 0)
    return uniqueArray(all, *unique, least, most);
  if (unique && most > 1)
    return doc_.error(*unique, "uniqueItems", "it is not supported beside prefixItems",
                      Code::Unsupported);
  const ExprId comma = text_.spaced(g_.text(","), g_.empty());
  // From the end back: what follows the first `i` items.
  SINTER_ASSIGN(const ExprId item, arrayItem(all, prefix));
  const auto count = static_cast<uint32_t>(prefix);
  const auto left = [&](uint32_t of) { return of == kUnbounded ? of : of - std::min(of, count); };
  ExprId rest = g_.repeat(g_.sequence({{text_.space(), comma, item}}), left(least), left(most));
  if (prefix == 0) {
    const uint32_t more = most == kUnbounded ? most : std::max(most, 1u) - 1;
    const ExprId others =
        g_.repeat(g_.sequence({{text_.space(), comma, item}}), std::max(least, 1u) - 1, more);
    const ExprId some = g_.sequence({{item, others}});
    rest = most == 0 ? g_.empty() : least == 0 ? g_.repeat(some, 0, 1) : some;
  }
  for (size_t i = prefix; i-- > 0;) {
    if (i >= most) {
      rest = g_.empty();
      continue;
    }
    SINTER_ASSIGN(const ExprId one, arrayItem(all, i));
    const ExprId next =
        i == 0 ? g_.sequence({{one, rest}}) : g_.sequence({{text_.space(), comma, one, rest}});
    rest = i < least ? next : g_.repeat(next, 0, 1);
  }
  return g_.sequence({{g_.text("["), text_.space(), rest, text_.space(), g_.text("]")}});
}

Result<SchemaCompiler::Shape> SchemaCompiler::shapeOf(const SchemaSet &all) const {
  Shape shape;
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const jinja::Input::Object *properties, doc_.objectAt(*schema, "properties"));
    for (size_t i = 0; properties && i < properties->size(); ++i)
      if (!has(shape.names, (*properties)[i].first))
        shape.names.push_back((*properties)[i].first);
    SINTER_ASSIGN(const jinja::Input::Object *patterns,
                  doc_.objectAt(*schema, "patternProperties"));
    for (size_t i = 0; patterns && i < patterns->size(); ++i)
      shape.patterns.emplace_back((*patterns)[i].first, schema);
    if (const Schema *names = schema->find("propertyNames"))
      shape.nameRules.push_back(names);
    SINTER_ASSIGN(const std::optional<uint32_t> least, doc_.countAt(*schema, "minProperties"));
    SINTER_ASSIGN(const std::optional<uint32_t> most, doc_.countAt(*schema, "maxProperties"));
    shape.least = std::max(shape.least, least.value_or(0));
    shape.most = std::min(shape.most, most.value_or(kUnbounded));
  }
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const jinja::Input::List *required, doc_.listAt(*schema, "required"));
    for (size_t i = 0; required && i < required->size(); ++i) {
      const std::string *name = (*required)[i].text();
      if (!name)
        return doc_.error(*schema, "required", "expected a list of names");
      if (!has(shape.required, *name))
        shape.required.push_back(*name);
      if (!has(shape.names, *name))
        shape.names.push_back(*name);
    }
  }
  return shape;
}

ExprId SchemaCompiler::member(ExprId key, ExprId value) {
  return g_.sequence({{text_.quoted(key), text_.space(), g_.text(":"), text_.space(), value}});
}

Result<ExprId> SchemaCompiler::keyContent(const Shape &shape, ExprId content) {
  if (shape.nameRules.empty())
    return content;
  SINTER_ASSIGN(const SchemaSet rules, flat(shape.nameRules));
  for (const Schema *rule : rules) {
    if (rule->find("anyOf") || rule->find("oneOf") || rule->find("not"))
      return doc_.error(*rule, "propertyNames", "branches are not supported here",
                        Code::Unsupported);
    if (const bool *truth = std::get_if<bool>(&rule->content()); truth && !*truth)
      return g_.choice({});
  }
  SINTER_ASSIGN(const uint32_t types, typesOf(rules));
  if (!(types & kString))
    return g_.choice({});
  for (const Schema *rule : rules) {
    const jinja::Input *names = rule->find("enum"), *one = rule->find("const");
    std::vector<ExprId> allowed;
    if (one && one->text())
      allowed.push_back(text_.content(*one->text()));
    for (size_t i = 0; names && names->list() && i < names->list()->size(); ++i)
      if (const std::string *name = (*names->list())[i].text())
        allowed.push_back(text_.content(*name));
    if (names || one)
      content = g_.both(content, g_.choice(allowed));
  }
  SINTER_ASSIGN(const ExprId rule, stringContent(rules));
  return g_.both(content, rule);
}

// Of each schema what it says of this name: by the name, by patterns, else of additional ones.
Result<ExprId> SchemaCompiler::propertyValue(const SchemaSet &all, const std::string &name) {
  SchemaSet schemas;
  for (const Schema *schema : all) {
    const jinja::Input *properties = schema->find("properties");
    const Schema *own = properties ? properties->find(name) : nullptr;
    bool isKnown = own != nullptr;
    if (own)
      schemas.push_back(own);
    const jinja::Input *patterns = schema->find("patternProperties");
    for (size_t i = 0; patterns && patterns->object() && i < patterns->object()->size(); ++i) {
      const auto &[pattern, value] = (*patterns->object())[i];
      Grammar grammar;
      const Result<ExprId> both = parseRegex(grammar, pattern, RegexUse::Found);
      if (!both)
        return doc_.error(*schema, "patternProperties", both.error().toString(), both.error().code);
      grammar.setRoot(*both);
      SINTER_ASSIGN(const std::unique_ptr<Automaton> automaton,
                    Automaton::create(std::move(grammar)));
      SINTER_ASSIGN(const StateId end, automaton->next(automaton->start(), name));
      if (end == kDead || !automaton->accepts(end))
        continue;
      schemas.push_back(&value);
      isKnown = true;
    }
    if (const Schema *others = schema->find("additionalProperties"); others && !isKnown)
      schemas.push_back(others);
  }
  return valueOf(schemas);
}

// Members whose names the schemas do not list: one kind for each set of patterns that a name has.
Result<std::optional<ExprId>> SchemaCompiler::otherMember(const SchemaSet &all,
                                                          const Shape &shape) {
  if (shape.patterns.size() > kMostPatterns)
    return doc_.error(*shape.patterns.front().second, "patternProperties",
                      "more than " + std::to_string(kMostPatterns) + " patterns of names",
                      Code::Unsupported);
  std::vector<ExprId> known, matching, ways;
  for (const std::string &name : shape.names)
    known.push_back(text_.content(name));
  for (const auto &[pattern, schema] : shape.patterns) {
    SINTER_ASSIGN(const ExprId match,
                  parseRegex(g_, pattern, RegexUse::Found, JsonText::character));
    matching.push_back(match);
  }
  for (size_t kind = 0; kind < size_t{1} << matching.size(); ++kind) {
    ExprId key = text_.anyCharacters(0, kUnbounded);
    if (!known.empty())
      key = g_.except(key, g_.choice(known));
    SchemaSet schemas, hit;
    for (size_t i = 0; i < matching.size(); ++i) {
      const bool isHit = kind >> i & 1;
      key = isHit ? g_.both(key, matching[i]) : g_.except(key, matching[i]);
      if (!isHit)
        continue;
      const Schema *owner = shape.patterns[i].second;
      schemas.push_back(owner->find("patternProperties")->find(shape.patterns[i].first));
      hit.push_back(owner);
    }
    for (const Schema *schema : all)
      if (const Schema *others = schema->find("additionalProperties");
          others && std::ranges::find(hit, schema) == hit.end())
        schemas.push_back(others);
    const bool isOut = std::ranges::any_of(schemas, [](const Schema *schema) {
      const bool *truth = std::get_if<bool>(&schema->content());
      return truth && !*truth;
    });
    if (isOut)
      continue;
    SINTER_ASSIGN(const ExprId allowed, keyContent(shape, key));
    SINTER_ASSIGN(const ExprId value, valueOf(schemas));
    ways.push_back(member(allowed, value));
  }
  return ways.empty() ? std::nullopt : std::optional(g_.choice(ways));
}

// Members in the order of their names' list, then others. What may follow is told by the number of
// names that were passed and, as far as counts matter, of members that were written.
Result<ExprId> SchemaCompiler::object(const SchemaSet &all) {
  SINTER_ASSIGN(const Shape shape, shapeOf(all));
  SINTER_ASSIGN(const std::optional<ExprId> other, otherMember(all, shape));
  if (other && shape.least > shape.required.size())
    return doc_.error(*all.front(), "minProperties",
                      "it is supported where additionalProperties is false, since other names may "
                      "come twice",
                      Code::Unsupported);
  const size_t names = shape.names.size();
  if (shape.least > names && !other)
    return g_.choice({});
  const ExprId comma = g_.sequence({{text_.space(), g_.text(","), text_.space()}});
  // Counts beyond `cap` are alike: only whether a member was written matters, for its comma.
  const bool counts = shape.least > 0 || shape.most != kUnbounded;
  const size_t cap = counts ? names : 1;
  const auto othersAfter = [&](size_t written) {
    if (!other)
      return written < shape.least && counts ? g_.choice({}) : g_.empty();
    const uint32_t left = shape.most == kUnbounded
                              ? kUnbounded
                              : shape.most - std::min<uint32_t>(shape.most, uint32_t(written));
    const ExprId more = g_.sequence({{comma, *other}});
    if (written > 0)
      return g_.repeat(more, 0, left);
    if (left == 0)
      return g_.empty();
    const ExprId some =
        g_.sequence({{*other, g_.repeat(more, 0, left == kUnbounded ? left : left - 1)}});
    return g_.repeat(some, 0, 1);
  };
  std::vector<ExprId> after(cap + 2); // by members written
  for (size_t written = 0; written <= cap; ++written)
    after[written] = othersAfter(written);
  for (size_t i = names; i-- > 0;) {
    SINTER_ASSIGN(const ExprId value, propertyValue(all, shape.names[i]));
    SINTER_ASSIGN(const ExprId key, keyContent(shape, text_.content(shape.names[i])));
    const ExprId one = member(key, value);
    const bool required = has(shape.required, shape.names[i]);
    std::vector<ExprId> before(cap + 2);
    for (size_t written = 0; written <= std::min(cap, counts ? i : cap); ++written) {
      const size_t next = std::min(written + 1, cap);
      std::vector<ExprId> ways;
      if (written < shape.most)
        ways.push_back(written == 0 ? g_.sequence({{one, after[next]}})
                                    : g_.sequence({{comma, one, after[next]}}));
      if (!required)
        ways.push_back(after[written]);
      before[written] = g_.choice(ways);
    }
    after = std::move(before);
  }
  return g_.sequence({{g_.text("{"), text_.space(), after[0], text_.space(), g_.text("}")}});
}

} // namespace sinter::grammar
