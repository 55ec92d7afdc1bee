// Filters that take a sequence as it is.
#include "jinja/access.h"
#include "jinja/arguments.h"
#include "jinja/characters.h"
#include "jinja/interpreter.h"
#include "jinja/operators.h"
#include "jinja/sorting.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

Result<Value> length(Interpreter &, BoundArguments arguments) {
  SINTER_ASSIGN(const int64_t found, lengthOf(arguments[0]));
  return Value::integer(found);
}

Result<Value> first(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_TRY(checkIterable(arguments[0]));
  Cursor cursor{arguments[0]};
  const Value item = nextItem(interpreter, cursor);
  return item.isMissing() ? interpreter.undefined("there is no first item") : item;
}
Result<Value> last(Interpreter &interpreter, BoundArguments arguments) {
  if (arguments[0].is(Kind::Iterator))
    return wrongType("a sequence", arguments[0]);
  SINTER_ASSIGN(std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  return items.empty() ? interpreter.undefined("there is no last item") : items.back();
}

Result<Value> list(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  return interpreter.list(std::move(items));
}

Result<Value> reverse(Interpreter &interpreter, BoundArguments arguments) {
  if (arguments[0].isText())
    return sliceOf(interpreter, arguments[0], Value(), Value(), Value::integer(-1));
  SINTER_ASSIGN(std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  std::ranges::reverse(items);
  return arguments[0].is(Kind::Iterator) ? interpreter.list(std::move(items))
                                         : interpreter.iterator(std::move(items));
}

Result<Value> items(Interpreter &interpreter, BoundArguments arguments) {
  if (arguments[0].isUndefined())
    return interpreter.iterator({});
  if (!arguments[0].is(Kind::Dict))
    return wrongType("a dict", arguments[0]);
  std::vector<Value> pairs;
  for (const DictObject::Entry &entry : arguments[0].dict().entries)
    pairs.push_back(interpreter.tuple({entry.key, entry.value}));
  SINTER_TRY(interpreter.spend(pairs.size()));
  return interpreter.iterator(std::move(pairs));
}

Result<Value> join(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  Text between;
  if (!arguments[1].isMissing()) {
    SINTER_ASSIGN(between, textOf(interpreter, arguments[1]));
  }
  TextBuilder out(interpreter);
  for (size_t i = 0; i < items.size() && !out.isFull(); ++i) {
    if (i > 0)
      out.add(between);
    Value item = items[i];
    if (isGiven(arguments[2])) {
      SINTER_ASSIGN(item, itemByPath(interpreter, item, arguments[2]));
    }
    SINTER_ASSIGN(const Text spelled, textOf(interpreter, item));
    out.add(spelled);
  }
  return out.finish();
}

Result<Value> batch(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  SINTER_ASSIGN(const int64_t count, integerOr(arguments[1], 0));
  std::vector<Value> rows;
  std::vector<Value> row;
  for (const Value &item : items) {
    if (static_cast<int64_t>(row.size()) == count)
      rows.push_back(interpreter.list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    const int64_t missing = count - static_cast<int64_t>(row.size());
    if (isGiven(arguments[2]) && missing > 0) {
      SINTER_TRY(interpreter.spend(static_cast<uint64_t>(missing)));
      SINTER_TRY(interpreter.checkRoomForItems(static_cast<size_t>(missing)));
      row.insert(row.end(), static_cast<size_t>(missing), arguments[2]);
    }
    rows.push_back(interpreter.list(std::move(row)));
  }
  return interpreter.iterator(std::move(rows));
}

// Columns of nearly equal length; the first ones have an item more.
Result<Value> slice(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  SINTER_ASSIGN(const int64_t columns, integerOr(arguments[1], 0));
  if (columns == 0)
    return fail(Code::InvalidArgument, "division by zero");
  std::vector<Value> made;
  const auto size = static_cast<int64_t>(items.size());
  for (int64_t i = 0, begin = 0; i < columns; ++i) {
    SINTER_TRY(interpreter.spend());
    const bool hasExtra = i < size % columns;
    const int64_t end = begin + size / columns + hasExtra;
    std::vector<Value> column(items.begin() + begin, items.begin() + end);
    if (isGiven(arguments[2]) && !hasExtra)
      column.push_back(arguments[2]);
    made.push_back(interpreter.list(std::move(column)));
    begin = end;
  }
  return interpreter.iterator(std::move(made));
}

// The keys that values are compared by, a list for each: one of several attributes decides.
Result<std::vector<Value>> sortKeys(Interpreter &interpreter, const std::vector<Value> &items,
                                    const Value &attribute, bool isCaseSensitive) {
  std::vector<Value> paths = {attribute};
  if (attribute.isText()) {
    paths.clear();
    for (std::string_view rest = attribute.bytes();;) {
      const size_t end = std::min(rest.find(','), rest.size());
      paths.push_back(interpreter.text(std::string(rest.substr(0, end)), Origin::Input));
      if (end == rest.size())
        break;
      rest.remove_prefix(end + 1);
    }
  }
  std::vector<Value> keys;
  for (const Value &item : items) {
    std::vector<Value> key;
    for (const Value &path : paths) {
      Value part = item;
      if (isGiven(path)) {
        SINTER_ASSIGN(part, itemByPath(interpreter, item, path));
      }
      if (!isCaseSensitive) {
        SINTER_ASSIGN(part, withoutCase(interpreter, part));
      }
      key.push_back(std::move(part));
    }
    keys.push_back(interpreter.list(std::move(key)));
  }
  return keys;
}

Result<Value> sort(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  SINTER_ASSIGN(const std::vector<Value> keys,
                sortKeys(interpreter, items, arguments[3], truth(arguments[2])));
  SINTER_ASSIGN(const std::vector<size_t> order,
                sortedOrder(interpreter, keys, truth(arguments[1])));
  std::vector<Value> sorted;
  for (const size_t i : order)
    sorted.push_back(items[i]);
  return interpreter.list(std::move(sorted));
}

Result<Value> dictSort(Interpreter &interpreter, BoundArguments arguments) {
  if (!arguments[0].is(Kind::Dict))
    return wrongType("a dict", arguments[0]);
  const std::string_view by = arguments[2].isText() ? arguments[2].bytes() : "key";
  if ((!arguments[2].isMissing() && !arguments[2].isText()) || (by != "key" && by != "value"))
    return fail(Code::InvalidArgument, "a dict is sorted by \"key\" or \"value\"");
  std::vector<Value> keys;
  const auto &entries = arguments[0].dict().entries;
  for (const DictObject::Entry &entry : entries) {
    Value key = by == "key" ? entry.key : entry.value;
    if (!truth(arguments[1])) {
      SINTER_ASSIGN(key, withoutCase(interpreter, key));
    }
    keys.push_back(std::move(key));
  }
  SINTER_ASSIGN(const std::vector<size_t> order,
                sortedOrder(interpreter, keys, truth(arguments[3])));
  std::vector<Value> sorted;
  for (const size_t i : order)
    sorted.push_back(interpreter.tuple({entries[i].key, entries[i].value}));
  return interpreter.list(std::move(sorted));
}

Result<Value> unique(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  const Value seen = interpreter.dict();
  std::vector<Value> kept;
  for (const Value &item : items) {
    Value key = item;
    if (isGiven(arguments[2])) {
      SINTER_ASSIGN(key, itemByPath(interpreter, item, arguments[2]));
    }
    if (!truth(arguments[1])) {
      SINTER_ASSIGN(key, withoutCase(interpreter, key));
    }
    const size_t before = seen.dict().entries.size();
    SINTER_TRY(interpreter.set(seen, key, Value::none()));
    if (seen.dict().entries.size() > before)
      kept.push_back(item);
  }
  return interpreter.iterator(std::move(kept));
}

template <bool isMost> Result<Value> extreme(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  if (items.empty())
    return interpreter.undefined("there is no item, since the sequence is empty");
  size_t best = 0;
  Value bestKey;
  for (size_t i = 0; i < items.size(); ++i) {
    Value key = items[i];
    if (isGiven(arguments[2])) {
      SINTER_ASSIGN(key, itemByPath(interpreter, key, arguments[2]));
    }
    if (!truth(arguments[1])) {
      SINTER_ASSIGN(key, withoutCase(interpreter, key));
    }
    if (i > 0) {
      SINTER_ASSIGN(const bool isBetter, isOrdered(interpreter, key, isMost ? ">" : "<", bestKey));
      if (!isBetter)
        continue;
    }
    best = i;
    bestKey = key;
  }
  return items[best];
}

Result<Value> sum(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[0]));
  Value total = arguments[2].isMissing() ? Value::integer(0) : arguments[2];
  if (total.isText())
    return wrongType("a number to start from", total);
  for (Value item : items) {
    if (isGiven(arguments[1])) {
      SINTER_ASSIGN(item, itemByPath(interpreter, item, arguments[1]));
    }
    SINTER_ASSIGN(total, binary(interpreter, BinaryOp::Add, total, item));
  }
  return total;
}

constexpr Builtin kFilters[] = {
    {"batch", "value linecount fill_with?", batch},
    {"count", "value", length},
    {"dictsort", "value case_sensitive? by? reverse?", dictSort},
    {"first", "seq", first},
    {"items", "value", items},
    {"join", "value d? attribute?", join},
    {"last", "seq", last},
    {"length", "value", length},
    {"list", "value", list},
    {"max", "value case_sensitive? attribute?", extreme<true>},
    {"min", "value case_sensitive? attribute?", extreme<false>},
    {"reverse", "value", reverse},
    {"slice", "value slices fill_with?", slice},
    {"sort", "value reverse? case_sensitive? attribute?", sort},
    {"sum", "iterable attribute? start?", sum},
    {"unique", "value case_sensitive? attribute?", unique},
};

} // namespace

std::span<const Builtin> sequenceFilters() {
  return kFilters;
}

} // namespace sinter::jinja
