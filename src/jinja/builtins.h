// Filters, tests, methods and functions: their names, parameters and code.
#pragma once

#include "base/status.h"
#include "jinja/value.h"

#include <optional>
#include <span>
#include <string_view>

namespace sinter::jinja {

class Interpreter;

// The arguments of one call, in the order of the builtin's parameters; Missing where none was
// given.
using BoundArguments = std::span<const Value>;

struct Builtin {
  std::string_view name;
  // Names with spaces between: "value width? first?". '?': may be missing; "*rest": all further
  // positional arguments, as a Tuple; "**more": all further keyword arguments, as a Dict. The first
  // is the filter's input, the test's value or the method's object.
  std::string_view parameters;
  Result<Value> (*run)(Interpreter &interpreter, BoundArguments arguments);
};

// Null where there is none of that name.
const Builtin *findFilter(std::string_view name);
const Builtin *findTest(std::string_view name);
const Builtin *findFunction(std::string_view name);
// A method of a value's type.
const Builtin *findMethod(Value::Kind kind, std::string_view name);
// Methods of Python's types that change a value, or that no template needs: never there.
bool isRefusedMethod(Value::Kind kind, std::string_view name);

// "the filter 'uper' is not known (did you mean 'upper'?)": Unsupported.
Fail unknownBuiltin(std::string_view kind, std::string_view name, std::optional<uint64_t> offset);

// The tables, each ascending by name.
std::span<const Builtin> textFilters();
std::span<const Builtin> sequenceFilters();
std::span<const Builtin> selectionFilters();
std::span<const Builtin> valueFilters();
std::span<const Builtin> allTests();
std::span<const Builtin> allFunctions();
std::span<const Builtin> textMethods();
std::span<const Builtin> textSearchMethods();
std::span<const Builtin> containerMethods(Value::Kind kind);

} // namespace sinter::jinja
