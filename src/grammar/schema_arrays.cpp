// Arrays that several schemas allow. Where items depend on those before them there is a rule for
// each state of what came so far.
#include "grammar/schema_compiler.h"
#include "grammar/schema_parts.h"

#include <algorithm>
#include <set>

namespace sinter::grammar {

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

ExprId SchemaCompiler::bracketed(ExprId items) {
  return g_.sequence({{g_.text("["), text_.space(), items, text_.space(), g_.text("]")}});
}

// By the values that came.
Result<ExprId> SchemaCompiler::uniqueArray(const SchemaSet &all, const ArrayShape &shape) {
  const auto refuse = [&](std::string why) {
    return doc_.error(*shape.unique, "uniqueItems", std::move(why), Code::Unsupported);
  };
  if (!shape.counts.empty())
    return refuse("it is not supported beside contains");
  std::vector<Texts> values; // by index; the last ones are of all items behind
  for (size_t i = 0; i <= shape.prefix; ++i) {
    SINTER_ASSIGN(std::optional<Texts> some, finiteValues(itemSchemas(all, i)));
    if (!some && i < shape.most)
      return refuse(
          "it is supported for items of few values: of enum, const, true, false and null");
    values.push_back(std::move(some).value_or(Texts()));
  }
  const ExprId comma = g_.sequence({{text_.space(), g_.text(","), text_.space()}});
  std::map<std::set<std::string>, RuleId> rules;
  std::vector<std::set<std::string>> open{{}};
  rules[{}] = g_.declare("unique items");
  for (size_t at = 0; at < open.size(); ++at) {
    const std::set<std::string> came = open[at];
    std::vector<ExprId> ways;
    if (came.size() >= shape.least)
      ways.push_back(g_.empty());
    for (const std::string &text : values[std::min(came.size(), shape.prefix)]) {
      if (came.size() >= shape.most || came.contains(text))
        continue;
      std::set<std::string> with = came;
      with.insert(text);
      const auto [found, isNew] = rules.try_emplace(with);
      if (isNew && rules.size() > kMostStates)
        return refuse("its items come in more than " + std::to_string(kMostStates) +
                      " combinations; expected fewer values, or a smaller maxItems");
      if (isNew) {
        found->second = g_.declare("unique items");
        open.push_back(std::move(with));
      }
      ways.push_back(g_.sequence(
          {{came.empty() ? g_.empty() : comma, g_.text(text), g_.call(found->second)}}));
    }
    g_.define(rules.at(came), g_.choice(ways));
  }
  return bracketed(g_.call(rules.at({})));
}

// The state is the items so far, then how many of them each `contains` counted, as far as it makes
// a difference. An item counts, or not; where counts have no upper bound, one that could count need
// not.
std::vector<SchemaCompiler::ItemWay>
SchemaCompiler::waysToCount(const ArrayShape &shape, const std::vector<uint32_t> &state) const {
  std::vector<ItemWay> ways{{{}, state}};
  for (size_t i = 0; i < shape.counts.size(); ++i) {
    const ItemCount &count = shape.counts[i];
    const bool isBounded = count.most != kUnbounded;
    if (state[0] < count.after || (!isBounded && state[i + 1] == count.least))
      continue;
    const size_t before = ways.size();
    for (size_t way = 0; way < before; ++way) {
      if (state[i + 1] < (isBounded ? count.most : count.least)) {
        ItemWay counted = ways[way];
        counted.counted.push_back(count.schema);
        ++counted.state[i + 1];
        ways.push_back(std::move(counted));
      }
      if (isBounded)
        ways[way].counted.push_back(&doc_.contraryOf(*count.schema));
    }
  }
  return ways;
}

Result<ExprId> SchemaCompiler::countedArray(const SchemaSet &all, const ArrayShape &shape) {
  size_t steps = std::max<size_t>({shape.prefix, shape.least, 1});
  size_t states = 1;
  if (shape.most != kUnbounded)
    steps = std::max<size_t>(steps, shape.most);
  for (const ItemCount &count : shape.counts) {
    steps = std::max<size_t>(steps, count.after);
    states *= size_t{count.most == kUnbounded ? count.least : count.most} + 1;
    if (states > kMostStates || (steps + 1) * states > kMostStates)
      return doc_.error(*all.front(), "contains",
                        "it and the bounds of the array take " +
                            std::to_string((steps + 1) * states) + " states, expected at most " +
                            std::to_string(kMostStates) + "; give smaller bounds",
                        Code::Unsupported);
  }
  const ExprId comma = g_.sequence({{text_.space(), g_.text(","), text_.space()}});
  std::map<std::vector<uint32_t>, RuleId> rules;
  std::vector<std::vector<uint32_t>> open{std::vector<uint32_t>(shape.counts.size() + 1)};
  const RuleId first = rules[open[0]] = g_.declare("counted items");
  for (size_t at = 0; at < open.size(); ++at) {
    const std::vector<uint32_t> state = open[at];
    std::vector<ExprId> ways;
    bool canEnd = state[0] >= shape.least;
    for (size_t i = 0; i < shape.counts.size(); ++i)
      canEnd = canEnd && state[i + 1] >= shape.counts[i].least;
    if (canEnd)
      ways.push_back(g_.empty());
    if (state[0] < shape.most) {
      for (ItemWay &way : waysToCount(shape, state)) {
        way.state[0] = std::min(state[0] + 1, static_cast<uint32_t>(steps));
        const auto [found, isNew] = rules.try_emplace(way.state);
        if (isNew) {
          found->second = g_.declare("counted items");
          open.push_back(way.state);
        }
        SchemaSet item = itemSchemas(all, state[0]);
        item.insert(item.end(), way.counted.begin(), way.counted.end());
        SINTER_ASSIGN(const ExprId one, valueOf(item));
        ways.push_back(
            g_.sequence({{state[0] == 0 ? g_.empty() : comma, one, g_.call(found->second)}}));
      }
    }
    g_.define(rules.at(state), g_.choice(ways));
  }
  return bracketed(g_.call(first));
}

Result<SchemaCompiler::ArrayShape> SchemaCompiler::arrayShapeOf(const SchemaSet &all) const {
  ArrayShape shape;
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const bool isUnique, doc_.flagAt(*schema, "uniqueItems"));
    if (isUnique)
      shape.unique = schema;
    SINTER_ASSIGN(const std::optional<uint32_t> minimum, doc_.countAt(*schema, "minItems"));
    SINTER_ASSIGN(const std::optional<uint32_t> maximum, doc_.countAt(*schema, "maxItems"));
    shape.least = std::max(shape.least, minimum.value_or(0));
    shape.most = std::min(shape.most, maximum.value_or(kUnbounded));
    SINTER_TRY(doc_.listAt(*schema, "prefixItems"));
    for (const std::string_view keyword : {"prefixItems", "items"})
      if (const jinja::Input *list = schema->find(keyword); list && list->list())
        shape.prefix = std::max(shape.prefix, list->list()->size());
    const Schema *contained = schema->find("contains");
    if (!contained)
      continue;
    SINTER_ASSIGN(const std::optional<uint32_t> least, doc_.countAt(*schema, "minContains"));
    SINTER_ASSIGN(const std::optional<uint32_t> most, doc_.countAt(*schema, "maxContains"));
    uint32_t after = 0;
    if (doc_.ownKeyword(*schema, kAfter)) {
      SINTER_ASSIGN(const std::optional<uint32_t> from, doc_.countAt(*schema, kAfter));
      after = *from;
    }
    if (least != 0u || most)
      shape.counts.push_back({contained, least.value_or(1), most.value_or(kUnbounded), after});
  }
  return shape;
}

Result<ExprId> SchemaCompiler::array(const SchemaSet &all) {
  SINTER_ASSIGN(const ArrayShape shape, arrayShapeOf(all));
  const auto [least, most, unique, prefix, counts] = shape;
  const bool isEmpty =
      std::ranges::any_of(counts, [](const ItemCount &count) { return count.least > count.most; });
  if (least > most || isEmpty)
    return g_.choice({});
  if (unique && most > 1)
    return uniqueArray(all, shape);
  if (!counts.empty())
    return countedArray(all, shape);
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
  return bracketed(rest);
}

} // namespace sinter::grammar
