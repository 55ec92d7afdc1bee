// Attributes are methods from our tables and the fields of the loop: nothing of the host is
// reached.
#include "jinja/access.h"

#include "jinja/builtins.h"
#include "jinja/characters.h"
#include "jinja/convert.h"
#include "jinja/loop.h"
#include "jinja/operators.h"

#include <algorithm>
#include <charconv>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

Value lacksAttribute(Runtime &runtime, const Value &object, std::string_view name) {
  return runtime.undefined("'" + std::string(typeName(object)) + " object' has no attribute '" +
                           std::string(name.substr(0, 64)) + "'");
}
Value isRefused(Runtime &runtime, const Value &object, std::string_view name) {
  return runtime.undefined("the attribute '" + std::string(name.substr(0, 64)) + "' of a '" +
                           std::string(typeName(object)) + "' is not open to templates");
}

// The methods and fields of a value's type; Missing where it has none of the name.
Result<Value> memberOf(Runtime &runtime, const Value &object, std::string_view name) {
  if (name.starts_with("__") || isRefusedMethod(object.kind(), name))
    return isRefused(runtime, object, name);
  if (object.is(Kind::Loop))
    return loopField(runtime, object, name);
  if (const Builtin *method = findMethod(object.kind(), name))
    return runtime.method(method, object);
  const bool isGroup = object.is(Kind::Tuple) && !object.items().spelling.empty();
  if (isGroup && (name == "grouper" || name == "list"))
    return object.items().items[name == "list"];
  return Value();
}

// The value of a key, the item of an index; Missing where there is none.
Result<Value> entryOf(Runtime &runtime, const Value &object, const Value &key) {
  if (object.is(Kind::Dict)) {
    if (isHashable(key))
      SINTER_TRY(runtime.spendLookup(object.dict(), key));
    const Value *found = isHashable(key) ? find(object.dict(), key) : nullptr;
    return found ? *found : Value();
  }
  if (!key.isIntegral())
    return Value();
  if (object.is(Kind::List) || object.is(Kind::Tuple) || object.is(Kind::Range)) {
    const std::vector<Value> &items = object.items().items;
    const auto size = static_cast<int64_t>(items.size());
    const int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
    return index >= 0 && index < size ? items[static_cast<size_t>(index)] : Value();
  }
  if (object.isText()) {
    SINTER_ASSIGN(const int64_t size, lengthOf(object));
    const int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
    if (index < 0 || index >= size)
      return Value();
    SINTER_TRY(runtime.spendBytes(object.bytes().size()));
    const size_t begin = byteOfCharacter(object.bytes(), static_cast<size_t>(index));
    const size_t end = begin + characterBytes(object.bytes()[begin]);
    return runtime.text(object.text().slice(begin, end), isSafe(object));
  }
  return Value();
}

struct Bounds {
  int64_t start, stop, step;
};

// Python's slice.indices().
Result<Bounds> boundsOf(const Value &start, const Value &stop, const Value &step, int64_t size) {
  const auto isGiven = [](const Value &value) {
    return !value.isMissing() && !value.is(Kind::None);
  };
  for (const Value *bound : {&start, &stop, &step})
    if (isGiven(*bound) && !bound->isIntegral())
      return wrongType("a whole number as a slice's bound", *bound);
  Bounds bounds{0, 0, isGiven(step) ? step.integer() : 1};
  if (bounds.step == 0)
    return fail(Code::InvalidArgument, "a slice's step is 0");
  const bool isForward = bounds.step > 0;
  const int64_t least = isForward ? 0 : -1, most = isForward ? size : size - 1;
  const auto clamp = [&](const Value &bound, int64_t initial) {
    if (!isGiven(bound))
      return initial;
    const int64_t index = bound.integer() < 0 ? bound.integer() + size : bound.integer();
    return std::clamp(index, least, most);
  };
  bounds.start = clamp(start, isForward ? least : most);
  bounds.stop = clamp(stop, isForward ? most : least);
  return bounds;
}

template <typename Visit> void visitSlice(const Bounds &bounds, const Visit &visit) {
  // Bounds lie within [-1, size], so a step that leaves them is as good as one just beyond.
  const int64_t step = std::clamp<int64_t>(bounds.step, INT32_MIN, INT32_MAX);
  for (int64_t i = bounds.start; step > 0 ? i < bounds.stop : i > bounds.stop; i += step)
    visit(static_cast<size_t>(i));
}

Result<Value> sliceOfText(Runtime &runtime, const Value &text, const Bounds &bounds) {
  const std::string_view bytes = text.bytes();
  SINTER_TRY(runtime.spendBytes(bytes.size()));
  TextBuilder out(runtime);
  if (bounds.step == 1) {
    if (bounds.start < bounds.stop) {
      const size_t begin = byteOfCharacter(bytes, static_cast<size_t>(bounds.start));
      const size_t count = static_cast<size_t>(bounds.stop - bounds.start);
      out.add(text.text(), begin, begin + byteOfCharacter(bytes.substr(begin), count));
    }
    return out.finish(isSafe(text));
  }
  SINTER_TRY(runtime.checkRoom(bytes.size() * sizeof(uint32_t)));
  SINTER_TRY(runtime.spend(bytes.size() / 4));
  std::vector<uint32_t> begins;
  for (size_t at = 0; at < bytes.size(); at += characterBytes(bytes[at]))
    begins.push_back(static_cast<uint32_t>(at));
  visitSlice(bounds, [&](size_t i) {
    out.add(text.text(), begins[i], begins[i] + characterBytes(bytes[begins[i]]));
  });
  return out.finish(isSafe(text));
}

} // namespace

Result<Value> attributeOf(Runtime &runtime, const Value &object, std::string_view name) {
  if (object.isUndefined())
    return isUndefined(object);
  if (object.is(Kind::Namespace)) {
    const Value *found = find(object.nameSpace().attributes.dict(), name);
    return found ? *found : lacksAttribute(runtime, object, name);
  }
  SINTER_ASSIGN(const Value member, memberOf(runtime, object, name));
  if (!member.isMissing())
    return member;
  if (object.is(Kind::Dict))
    if (const Value *found = find(object.dict(), name))
      return *found;
  return lacksAttribute(runtime, object, name);
}

Result<Value> itemOf(Runtime &runtime, const Value &object, const Value &key) {
  if (object.isUndefined())
    return isUndefined(object);
  SINTER_ASSIGN(const Value entry, entryOf(runtime, object, key));
  if (!entry.isMissing())
    return entry;
  if (key.isText()) {
    if (object.is(Kind::Namespace))
      return attributeOf(runtime, object, key.bytes());
    SINTER_ASSIGN(const Value member, memberOf(runtime, object, key.bytes()));
    return member.isMissing() ? lacksAttribute(runtime, object, key.bytes()) : member;
  }
  SINTER_ASSIGN(const Text spelled, reprOf(runtime, key));
  return runtime.undefined("'" + std::string(typeName(object)) + " object' has no element " +
                           spelled.bytes().substr(0, 64));
}

Result<Value> itemByPath(Runtime &runtime, const Value &object, const Value &path) {
  if (!path.isText())
    return path.is(Kind::None) ? Result<Value>(object) : itemOf(runtime, object, path);
  Value item = object;
  std::string_view rest = path.bytes();
  while (true) {
    SINTER_TRY(runtime.spend());
    const size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, end);
    int64_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool isIndex = !part.empty() && part[0] != '-' && read.ec == std::errc() &&
                         read.ptr == part.data() + part.size();
    const Value key =
        isIndex ? Value::integer(index) : runtime.text(std::string(part), Origin::Input);
    SINTER_ASSIGN(item, itemOf(runtime, item, key));
    if (end == rest.size())
      return item;
    rest.remove_prefix(end + 1);
  }
}

Result<Value> sliceOf(Runtime &runtime, const Value &object, const Value &start, const Value &stop,
                      const Value &step) {
  const bool isSequence = object.is(Kind::List) || object.is(Kind::Tuple) || object.is(Kind::Range);
  if (!isSequence && !object.isText()) {
    if (object.isUndefined())
      return isUndefined(object);
    return runtime.undefined("a value of type '" + std::string(typeName(object)) +
                             "' has no slices");
  }
  SINTER_ASSIGN(const int64_t size, lengthOf(object));
  auto bounds = boundsOf(start, stop, step, size);
  if (!bounds) // as any subscript that an object does not take
    return bounds.error().message.ends_with("is 0") ? Result<Value>(Fail(bounds.error()))
                                                    : runtime.undefined(bounds.error().message);
  if (object.isText())
    return sliceOfText(runtime, object, *bounds);
  std::vector<Value> items;
  visitSlice(*bounds, [&](size_t i) { items.push_back(object.items().items[i]); });
  SINTER_TRY(runtime.spend(items.size()));
  return object.is(Kind::Tuple) ? runtime.tuple(std::move(items)) : runtime.list(std::move(items));
}

} // namespace sinter::jinja
