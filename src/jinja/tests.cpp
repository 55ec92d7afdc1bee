// What stands after `is`.
#include "jinja/arguments.h"
#include "jinja/compare.h"
#include "jinja/interpreter.h"
#include "jinja/operators.h"

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

template <bool (*holds)(const Value &)>
Result<Value> check(Interpreter &, BoundArguments arguments) {
  return Value::boolean(holds(arguments[0]));
}
template <Kind kind> bool isKind(const Value &value) {
  return value.is(kind);
}
template <bool wanted> bool isTruthValue(const Value &value) {
  return value.is(Kind::Bool) && value.boolean() == wanted;
}
bool isDefined(const Value &value) {
  return !value.isUndefined();
}
bool isNumber(const Value &value) {
  return value.isNumber();
}
bool isCallable(const Value &value) {
  return value.is(Kind::Function) || value.is(Kind::Loop) || value.isUndefined();
}
bool isSequence(const Value &value) {
  return value.isText() || value.is(Kind::List) || value.is(Kind::Tuple) || value.is(Kind::Range) ||
         value.is(Kind::Dict) || value.isUndefined();
}
bool canBeLooped(const Value &value) {
  return isIterable(value) || value.is(Kind::Loop);
}
bool isEscaped(const Value &value) {
  return isSafe(value);
}

Result<Value> isDivisible(Interpreter &interpreter, const Value &value, const Value &by,
                          int64_t remainder) {
  SINTER_ASSIGN(const Value found, binary(interpreter, BinaryOp::Modulo, value, by));
  SINTER_ASSIGN(const bool isSame, equal(interpreter, found, Value::integer(remainder)));
  return Value::boolean(isSame);
}
template <int64_t remainder>
Result<Value> parity(Interpreter &interpreter, BoundArguments arguments) {
  return isDivisible(interpreter, arguments[0], Value::integer(2), remainder);
}
Result<Value> divisibleBy(Interpreter &interpreter, BoundArguments arguments) {
  return isDivisible(interpreter, arguments[0], arguments[1], 0);
}

template <bool wanted> Result<Value> isEqual(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const bool isSame, equal(interpreter, arguments[0], arguments[1]));
  return Value::boolean(isSame == wanted);
}
constexpr std::string_view kOrders[] = {"<", "<=", ">", ">="};
template <size_t op> Result<Value> isInOrder(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const bool holds, isOrdered(interpreter, arguments[0], kOrders[op], arguments[1]));
  return Value::boolean(holds);
}
Result<Value> isIn(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const bool isThere, contains(interpreter, arguments[1], arguments[0]));
  return Value::boolean(isThere);
}
Result<Value> isSame(Interpreter &interpreter, BoundArguments arguments) {
  const Value &a = arguments[0], &b = arguments[1];
  if (a.kind() != b.kind())
    return Value::boolean(false);
  if (a.object() && !a.isText())
    return Value::boolean(a.object() == b.object());
  return isEqual<true>(interpreter, arguments);
}

template <bool isUpper> Result<Value> hasCase(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(Text text, textOf(interpreter, arguments[0]));
  const Value spelled = interpreter.text(std::move(text));
  const Builtin *method = findMethod(Kind::Text, isUpper ? "isupper" : "islower");
  return method->run(interpreter, {&spelled, 1});
}

template <const Builtin *(*findNamed)(std::string_view)>
Result<Value> isNameOf(Interpreter &, BoundArguments arguments) {
  if (!isHashable(arguments[0]))
    return wrongType("a name", arguments[0]);
  return Value::boolean(arguments[0].isText() && findNamed(arguments[0].bytes()));
}

constexpr Builtin kTests[] = {
    {"!=", "value other", isEqual<false>},
    {"<", "value other", isInOrder<0>},
    {"<=", "value other", isInOrder<1>},
    {"==", "value other", isEqual<true>},
    {">", "value other", isInOrder<2>},
    {">=", "value other", isInOrder<3>},
    {"boolean", "value", check<isKind<Kind::Bool>>},
    {"callable", "value", check<isCallable>},
    {"defined", "value", check<isDefined>},
    {"divisibleby", "value num", divisibleBy},
    {"eq", "value other", isEqual<true>},
    {"equalto", "value other", isEqual<true>},
    {"escaped", "value", check<isEscaped>},
    {"even", "value", parity<0>},
    {"false", "value", check<isTruthValue<false>>},
    {"filter", "value", isNameOf<findFilter>},
    {"float", "value", check<isKind<Kind::Float>>},
    {"ge", "value other", isInOrder<3>},
    {"greaterthan", "value other", isInOrder<2>},
    {"gt", "value other", isInOrder<2>},
    {"in", "value seq", isIn},
    {"integer", "value", check<isKind<Kind::Int>>},
    {"iterable", "value", check<canBeLooped>},
    {"le", "value other", isInOrder<1>},
    {"lessthan", "value other", isInOrder<0>},
    {"lower", "value", hasCase<false>},
    {"lt", "value other", isInOrder<0>},
    {"mapping", "value", check<isKind<Kind::Dict>>},
    {"ne", "value other", isEqual<false>},
    {"none", "value", check<isKind<Kind::None>>},
    {"number", "value", check<isNumber>},
    {"odd", "value", parity<1>},
    {"sameas", "value other", isSame},
    {"sequence", "value", check<isSequence>},
    {"string", "value", check<isKind<Kind::Text>>},
    {"test", "value", isNameOf<findTest>},
    {"true", "value", check<isTruthValue<true>>},
    {"undefined", "value", check<isKind<Kind::Undefined>>},
    {"upper", "value", hasCase<true>},
};

} // namespace

std::span<const Builtin> allTests() {
  return kTests;
}

} // namespace sinter::jinja
