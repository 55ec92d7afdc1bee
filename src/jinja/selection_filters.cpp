// Filters that apply an attribute, a filter or a test to each item of a sequence.
#include "jinja/access.h"
#include "jinja/arguments.h"
#include "jinja/compare.h"
#include "jinja/interpreter.h"
#include "jinja/sorting.h"

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

// The value of an attribute; `initial`, where one was given, stands in for what is undefined.
Result<Value> attributeOr(Interpreter &interpreter, const Value &item, const Value &path,
                          const Value &initial) {
  auto found = itemByPath(interpreter, item, path);
  if (!isGiven(initial))
    return found;
  // A step of the path through something undefined takes the default there.
  if (!found && found.error().code != Code::InvalidArgument)
    return found;
  return !found || found->isUndefined() ? Result<Value>(initial) : found;
}

CallArguments restOf(const std::vector<Value> &positional, size_t from, const Value &keywords) {
  CallArguments rest;
  rest.positional.assign(positional.begin() + static_cast<ptrdiff_t>(from), positional.end());
  for (const DictObject::Entry &entry : keywords.dict().entries)
    rest.keywords.emplace_back(entry.key.bytes(), entry.value);
  return rest;
}

Result<Value> mapAttribute(Interpreter &interpreter, const std::vector<Value> &items,
                           const Value &keywords) {
  const Value *path = find(keywords.dict(), "attribute");
  const Value *initial = find(keywords.dict(), "default");
  if (keywords.dict().entries.size() > 1 + (initial != nullptr))
    return fail(Code::InvalidArgument, "takes attribute= and default= alone");
  std::vector<Value> made;
  for (const Value &item : items) {
    SINTER_ASSIGN(Value value, attributeOr(interpreter, item, *path, initial ? *initial : Value()));
    made.push_back(std::move(value));
  }
  return interpreter.iterator(std::move(made));
}

Result<Value> map(Interpreter &interpreter, BoundArguments arguments) {
  if (!truth(arguments[0]))
    return interpreter.iterator({});
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  const std::vector<Value> &positional = arguments[1].items().items;
  if (positional.empty() && find(arguments[2].dict(), "attribute"))
    return mapAttribute(interpreter, items, arguments[2]);
  if (positional.empty())
    return fail(Code::InvalidArgument, "lacks the name of a filter, or attribute=");
  SINTER_ASSIGN(const Text name, textArgument(positional[0]));
  std::vector<Value> made;
  for (const Value &item : items) {
    SINTER_ASSIGN(Value value,
                  interpreter.filter(name.bytes(), item, restOf(positional, 1, arguments[2])));
    made.push_back(std::move(value));
  }
  return interpreter.iterator(std::move(made));
}

// Items that pass a test, or that do not; the test looks at an attribute where one is named first.
template <bool wantsPassed, bool hasAttribute>
Result<Value> select(Interpreter &interpreter, BoundArguments arguments) {
  if (!truth(arguments[0]))
    return interpreter.iterator({});
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  const std::vector<Value> &positional = arguments[1].items().items;
  if (hasAttribute && positional.empty())
    return fail(Code::InvalidArgument, "lacks the name of an attribute");
  std::vector<Value> kept;
  for (const Value &item : items) {
    SINTER_TRY(interpreter.spend());
    Value value = item;
    if (hasAttribute) {
      SINTER_ASSIGN(value, itemByPath(interpreter, item, positional[0]));
    }
    if (positional.size() > hasAttribute) {
      SINTER_ASSIGN(const Text name, textArgument(positional[hasAttribute]));
      SINTER_ASSIGN(value, interpreter.test(name.bytes(), value,
                                            restOf(positional, hasAttribute + 1, arguments[2])));
    }
    if (truth(value) == wantsPassed)
      kept.push_back(item);
  }
  return interpreter.iterator(std::move(kept));
}

Value group(Interpreter &interpreter, Value key, std::vector<Value> members) {
  const Value made = interpreter.tuple({std::move(key), interpreter.list(std::move(members))});
  made.items().spelling = "group"; // it has the attributes `grouper` and `list`
  return made;
}

Result<Value> groupBy(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  std::vector<Value> plain, keys;
  for (const Value &item : items) {
    SINTER_ASSIGN(Value key, attributeOr(interpreter, item, arguments[1], arguments[2]));
    plain.push_back(key);
    if (!truth(arguments[3])) {
      SINTER_ASSIGN(key, withoutCase(interpreter, key));
    }
    keys.push_back(std::move(key));
  }
  SINTER_ASSIGN(const std::vector<size_t> order, sortedOrder(interpreter, keys, false));
  std::vector<Value> groups, members;
  for (size_t i = 0; i < order.size(); ++i) {
    members.push_back(items[order[i]]);
    if (i + 1 < order.size()) {
      SINTER_ASSIGN(const bool isSame, equal(interpreter, keys[order[i]], keys[order[i + 1]]));
      if (isSame)
        continue;
    }
    const Value &key = plain[order[i + 1 - members.size()]];
    groups.push_back(group(interpreter, key, std::exchange(members, {})));
  }
  return interpreter.list(std::move(groups));
}

Result<Value> attribute(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Text name, textArgument(arguments[1]));
  // Attributes alone: a dict's keys are none.
  if (arguments[0].is(Kind::Dict) && !findMethod(Kind::Dict, name.bytes()))
    return interpreter.undefined("'dict object' has no attribute '" + name.bytes().substr(0, 64) +
                                 "'");
  return attributeOf(interpreter, arguments[0], name.bytes());
}

constexpr Builtin kFilters[] = {
    {"attr", "obj name", attribute},
    {"groupby", "value attribute default? case_sensitive?", groupBy},
    {"map", "value *arguments **keywords", map},
    {"reject", "value *arguments **keywords", select<false, false>},
    {"rejectattr", "value *arguments **keywords", select<false, true>},
    {"select", "value *arguments **keywords", select<true, false>},
    {"selectattr", "value *arguments **keywords", select<true, true>},
};

} // namespace

std::span<const Builtin> selectionFilters() {
  return kFilters;
}

} // namespace sinter::jinja
