// What a template can call without an object.
#include "jinja/arguments.h"
#include "jinja/interpreter.h"

#include <ctime>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

// As Jinja's sandbox has it.
constexpr uint64_t kMostRangeItems = 100'000;

Result<Value> range(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const int64_t first, integerOr(arguments[0], 0));
  SINTER_ASSIGN(const int64_t second, integerOr(arguments[1], 0));
  SINTER_ASSIGN(const int64_t step, integerOr(arguments[2], 1));
  const int64_t start = arguments[1].isMissing() ? 0 : first;
  const int64_t stop = arguments[1].isMissing() ? first : second;
  if (step == 0)
    return fail(Code::InvalidArgument, "the step is 0");
  const bool isEmpty = step > 0 ? start >= stop : start <= stop;
  const auto difference = static_cast<uint64_t>(step > 0 ? stop : start) -
                          static_cast<uint64_t>(step > 0 ? start : stop);
  const uint64_t width = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const uint64_t count = isEmpty ? 0 : (difference - 1) / width + 1;
  if (count > kMostRangeItems)
    return fail(Code::Exhausted, "a range has " + std::to_string(count) + " items, at most " +
                                     std::to_string(kMostRangeItems));
  SINTER_TRY(interpreter.spend(count));
  std::vector<Value> items;
  for (uint64_t i = 0; i < count; ++i)
    items.push_back(Value::integer(
        static_cast<int64_t>(static_cast<uint64_t>(start) + i * static_cast<uint64_t>(step))));
  return interpreter.range(start, stop, step, std::move(items));
}

// Pairs or a dict, then keywords.
Result<Value> dictOf(Interpreter &interpreter, const Value &source, const Value &keywords) {
  const Value made = interpreter.dict();
  if (source.is(Kind::Dict)) {
    for (const DictObject::Entry &entry : source.dict().entries)
      SINTER_TRY(interpreter.set(made, entry.key, entry.value));
  } else if (!source.isMissing()) {
    SINTER_ASSIGN(const std::vector<Value> pairs, itemsOf(interpreter, source));
    for (const Value &one : pairs) {
      SINTER_ASSIGN(const std::vector<Value> pair, itemsOf(interpreter, one));
      if (pair.size() != 2)
        return fail(Code::InvalidArgument, "found " + std::to_string(pair.size()) +
                                               " values, expected a key and its value");
      SINTER_TRY(interpreter.set(made, pair[0], pair[1]));
    }
  }
  for (const DictObject::Entry &entry : keywords.dict().entries)
    SINTER_TRY(interpreter.set(made, entry.key, entry.value));
  return made;
}
Result<Value> dict(Interpreter &interpreter, BoundArguments arguments) {
  return dictOf(interpreter, arguments[0], arguments[1]);
}
Result<Value> nameSpace(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(Value attributes, dictOf(interpreter, arguments[0], arguments[1]));
  return interpreter.nameSpace(std::move(attributes));
}

Result<Value> raise(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Text message, textOf(interpreter, arguments[0]));
  return fail(Code::Unsupported, "the template refuses this: " + message.bytes().substr(0, 1000));
}

Result<Value> formatTime(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Text format, textArgument(arguments[0]));
  constexpr size_t kMostFormatBytes = 256, kMostBytes = 65'536;
  if (format.size() > kMostFormatBytes)
    return fail(Code::InvalidArgument, "the format has " + std::to_string(format.size()) +
                                           " bytes, expected at most " +
                                           std::to_string(kMostFormatBytes));
  // Widths such as %9999d make a time long; and a result may be empty, so a mark ends it.
  std::string text(kMostBytes, '\0');
  const size_t size =
      std::strftime(text.data(), text.size(), (format.bytes() + ".").c_str(), &interpreter.now());
  if (size == 0)
    return fail(Code::InvalidArgument,
                "the time does not fit " + std::to_string(kMostBytes) + " bytes");
  text.resize(size - 1);
  return interpreter.text(std::move(text), format.origin());
}

constexpr Builtin kFunctions[] = {
    {"dict", "source? **keywords", dict},   {"namespace", "source? **keywords", nameSpace},
    {"raise_exception", "message", raise},  {"range", "start stop? step?", range},
    {"strftime_now", "format", formatTime},
};

} // namespace

std::span<const Builtin> allFunctions() {
  return kFunctions;
}

} // namespace sinter::jinja
