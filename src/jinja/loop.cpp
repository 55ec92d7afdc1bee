// Items are fetched one by one, and ahead only where the body asks for what follows.
#include "jinja/loop.h"

#include "jinja/builtins.h"
#include "jinja/convert.h"

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

Result<Value> fetched(LoopObject &loop) {
  if (loop.hasRest)
    return loop.restAt < loop.rest.size() ? loop.rest[loop.restAt++] : Value();
  return loop.fetch();
}

Result<Value> peek(LoopObject &loop) {
  if (loop.after.isMissing()) {
    SINTER_ASSIGN(loop.after, fetched(loop));
  }
  return loop.after;
}

Result<int64_t> lengthOfLoop(Runtime &runtime, LoopObject &loop) {
  if (loop.length)
    return *loop.length;
  if (!loop.isFiltered && !loop.source.is(Kind::Iterator)) {
    SINTER_ASSIGN(loop.length, lengthOf(loop.source));
    return *loop.length;
  }
  std::vector<Value> rest;
  while (true) {
    SINTER_TRY(runtime.spend());
    SINTER_ASSIGN(Value item, fetched(loop));
    if (item.isMissing())
      break;
    rest.push_back(std::move(item));
  }
  loop.length = static_cast<int64_t>(rest.size()) + loop.index0 + 1 + !loop.after.isMissing();
  loop.rest = std::move(rest);
  loop.restAt = 0;
  loop.hasRest = true;
  return *loop.length;
}

Result<Value> counted(Runtime &runtime, LoopObject &loop, int64_t before) {
  SINTER_ASSIGN(const int64_t length, lengthOfLoop(runtime, loop));
  return Value::integer(length - before);
}

Result<Value> neighbour(Runtime &runtime, LoopObject &loop, bool isNext) {
  Value item = loop.before;
  if (isNext) {
    SINTER_ASSIGN(item, peek(loop));
  }
  if (item.isMissing())
    return runtime.undefined(isNext ? "there is no next item" : "there is no previous item");
  return item;
}

} // namespace

Result<bool> advance(LoopObject &loop) {
  Value item = std::exchange(loop.after, Value());
  if (item.isMissing()) {
    SINTER_ASSIGN(item, fetched(loop));
  }
  if (item.isMissing())
    return false;
  ++loop.index0;
  loop.before = std::move(loop.current);
  loop.current = std::move(item);
  return true;
}

Result<Value> loopField(Runtime &runtime, const Value &value, std::string_view name) {
  LoopObject &loop = value.loop();
  if (name == "index0")
    return Value::integer(loop.index0);
  if (name == "index")
    return Value::integer(loop.index0 + 1);
  if (name == "first")
    return Value::boolean(loop.index0 == 0);
  if (name == "last") {
    SINTER_ASSIGN(const Value next, peek(loop));
    return Value::boolean(next.isMissing());
  }
  if (name == "length")
    return counted(runtime, loop, 0);
  if (name == "revindex")
    return counted(runtime, loop, loop.index0);
  if (name == "revindex0")
    return counted(runtime, loop, loop.index0 + 1);
  if (name == "previtem" || name == "nextitem")
    return neighbour(runtime, loop, name == "nextitem");
  if (name == "depth0" || name == "depth")
    return Value::integer(loop.depth0 + (name == "depth"));
  if (const Builtin *method = findMethod(Kind::Loop, name))
    return runtime.method(method, value);
  return Value();
}

} // namespace sinter::jinja
