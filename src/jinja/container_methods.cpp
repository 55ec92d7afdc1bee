// Methods of dicts, lists, tuples and of `loop`.
#include "jinja/arguments.h"
#include "jinja/compare.h"
#include "jinja/interpreter.h"

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

Result<Value> get(Interpreter &interpreter, BoundArguments arguments) {
  if (!isHashable(arguments[1]))
    return wrongType("a key", arguments[1]);
  SINTER_TRY(interpreter.spendLookup(arguments[0].dict(), arguments[1]));
  if (const Value *found = find(arguments[0].dict(), arguments[1]))
    return *found;
  return arguments[2].isMissing() ? Value::none() : arguments[2];
}
Result<Value> items(Interpreter &interpreter, BoundArguments arguments) {
  std::vector<Value> made;
  for (const DictObject::Entry &entry : arguments[0].dict().entries)
    made.push_back(interpreter.tuple({entry.key, entry.value}));
  SINTER_TRY(interpreter.spend(made.size()));
  return interpreter.view("dict_items", std::move(made));
}
template <bool wantsKeys> Result<Value> column(Interpreter &interpreter, BoundArguments arguments) {
  std::vector<Value> made;
  for (const DictObject::Entry &entry : arguments[0].dict().entries)
    made.push_back(wantsKeys ? entry.key : entry.value);
  SINTER_TRY(interpreter.spend(made.size()));
  return interpreter.view(wantsKeys ? "dict_keys" : "dict_values", std::move(made));
}
Result<Value> copyDict(Interpreter &interpreter, BoundArguments arguments) {
  const Value made = interpreter.dict();
  for (const DictObject::Entry &entry : arguments[0].dict().entries)
    SINTER_TRY(interpreter.set(made, entry.key, entry.value));
  SINTER_TRY(interpreter.spend(made.dict().entries.size()));
  return made;
}

// Lists can grow and shrink at their ends, which some published templates do; Jinja's immutable
// sandbox refuses that.
Result<Value> append(Interpreter &interpreter, BoundArguments arguments) {
  interpreter.push(arguments[0], arguments[1]);
  return Value::none();
}
Result<Value> pop(Interpreter &interpreter, BoundArguments arguments) {
  std::vector<Value> &items = arguments[0].items().items;
  SINTER_ASSIGN(int64_t index, integerOr(arguments[1], -1));
  const auto size = static_cast<int64_t>(items.size());
  index += index < 0 ? size : 0;
  if (index < 0 || index >= size)
    return fail(Code::InvalidArgument, "the list has " + std::to_string(size) + " items");
  SINTER_TRY(interpreter.spend(1 + static_cast<uint64_t>(size - index) / 8));
  Value item = items[static_cast<size_t>(index)];
  items.erase(items.begin() + index);
  return item;
}
Result<Value> copyList(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_TRY(interpreter.spend(arguments[0].items().items.size()));
  return interpreter.list(arguments[0].items().items);
}
Result<Value> index(Interpreter &interpreter, BoundArguments arguments) {
  const std::vector<Value> &all = arguments[0].items().items;
  for (size_t i = 0; i < all.size(); ++i) {
    SINTER_TRY(interpreter.spend());
    SINTER_ASSIGN(const bool isSame, equal(interpreter, all[i], arguments[1]));
    if (isSame)
      return Value::integer(static_cast<int64_t>(i));
  }
  return fail(Code::InvalidArgument, "the value is not there");
}
Result<Value> count(Interpreter &interpreter, BoundArguments arguments) {
  int64_t found = 0;
  for (const Value &item : arguments[0].items().items) {
    SINTER_TRY(interpreter.spend());
    SINTER_ASSIGN(const bool isSame, equal(interpreter, item, arguments[1]));
    found += isSame;
  }
  return Value::integer(found);
}

Result<Value> cycle(Interpreter &, BoundArguments arguments) {
  const std::vector<Value> &choices = arguments[1].items().items;
  if (choices.empty())
    return fail(Code::InvalidArgument, "there is nothing to choose from");
  return choices[static_cast<size_t>(arguments[0].loop().index0) % choices.size()];
}
Result<Value> changed(Interpreter &interpreter, BoundArguments arguments) {
  LoopObject &loop = arguments[0].loop();
  SINTER_ASSIGN(const bool isSame, equal(interpreter, loop.lastChanged, arguments[1]));
  if (!isSame)
    loop.lastChanged = arguments[1];
  return Value::boolean(!isSame);
}

constexpr Builtin kDictMethods[] = {
    {"copy", "dict", copyDict},     {"get", "dict key default?", get}, {"items", "dict", items},
    {"keys", "dict", column<true>}, {"values", "dict", column<false>},
};
constexpr Builtin kListMethods[] = {
    {"append", "list item", append}, {"copy", "list", copyList},  {"count", "list value", count},
    {"index", "list value", index},  {"pop", "list index?", pop},
};
constexpr Builtin kTupleMethods[] = {
    {"count", "tuple value", count},
    {"index", "tuple value", index},
};
constexpr Builtin kLoopMethods[] = {
    {"changed", "loop *values", changed},
    {"cycle", "loop *values", cycle},
};

} // namespace

std::span<const Builtin> containerMethods(Kind kind) {
  switch (kind) {
  case Kind::Dict:
    return kDictMethods;
  case Kind::List:
    return kListMethods;
  case Kind::Tuple:
  case Kind::Range:
    return kTupleMethods;
  case Kind::Loop:
    return kLoopMethods;
  default:
    return {};
  }
}

} // namespace sinter::jinja
