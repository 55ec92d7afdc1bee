// Filters on single values: numbers, defaults, JSON.
#include "jinja/arguments.h"
#include "jinja/interpreter.h"
#include "jinja/json_text.h"
#include "jinja/numbers.h"
#include "jinja/operators.h"

#include <cmath>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

Result<Value> absolute(Interpreter &, BoundArguments arguments) {
  if (arguments[0].is(Kind::Float))
    return Value::real(std::fabs(arguments[0].real()), arguments[0].origin());
  if (arguments[0].isIntegral() && arguments[0].integer() < 0)
    return negated(arguments[0]);
  return unchanged(arguments[0]);
}

Result<Value> defaulted(Interpreter &interpreter, BoundArguments arguments) {
  const bool isMissing =
      arguments[0].isUndefined() || (truth(arguments[2]) && !truth(arguments[0]));
  if (!isMissing)
    return arguments[0];
  return arguments[1].isMissing() ? interpreter.text("", Origin::Template) : arguments[1];
}

Result<Value> integerOfReal(double value, Origin origin) {
  constexpr double kBeyond = 9223372036854775808.0;
  if (!(value >= -kBeyond && value < kBeyond))
    return fail(Code::Unsupported, "a whole number beyond 64 bits");
  return Value::integer(static_cast<int64_t>(value), origin);
}

Result<Value> integer(Interpreter &, BoundArguments arguments) {
  const Value &value = arguments[0];
  const Value initial = arguments[1].isMissing() ? Value::integer(0) : arguments[1];
  SINTER_ASSIGN(const int64_t base, integerOr(arguments[2], 10));
  if (value.isUndefined())
    return isUndefined(value);
  if (value.isIntegral())
    return Value::integer(value.integer(), value.origin());
  std::optional<double> real;
  if (value.is(Kind::Float)) {
    real = value.real();
  } else if (value.isText()) {
    SINTER_ASSIGN(const std::optional<int64_t> whole, readInteger(value.bytes(), base));
    if (whole)
      return Value::integer(*whole, value.origin());
    real = readReal(value.bytes());
  }
  return real && std::isfinite(*real) ? integerOfReal(*real, value.origin()) : initial;
}

Result<Value> real(Interpreter &, BoundArguments arguments) {
  const Value &value = arguments[0];
  if (value.isUndefined())
    return isUndefined(value);
  if (value.isNumber())
    return Value::real(value.real(), value.origin());
  if (value.isText())
    if (const std::optional<double> read = readReal(value.bytes()))
      return Value::real(*read, value.origin());
  return arguments[1].isMissing() ? Value::real(0) : arguments[1];
}

Result<Value> round(Interpreter &, BoundArguments arguments) {
  SINTER_ASSIGN(const int64_t digits, integerOr(arguments[1], 0));
  const std::string_view method = arguments[2].isText() ? arguments[2].bytes() : "common";
  const Value &value = arguments[0];
  const bool isCommon = method == "common";
  if ((!isCommon && method != "ceil" && method != "floor") ||
      (!arguments[2].isMissing() && !arguments[2].isText()))
    return fail(Code::InvalidArgument, "the method is none of common, ceil and floor");
  if (!value.isNumber())
    return wrongType("a number", value);
  if (isCommon && value.isIntegral())
    return Value::integer(roundedInteger(value.integer(), digits), value.origin());
  if (isCommon)
    return Value::real(rounded(value.real(), digits), value.origin());
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = value.real() * unit;
  if (!std::isfinite(scaled))
    return fail(Code::InvalidArgument, "the number is too large to be rounded");
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit,
                     value.origin());
}

Result<void> readIndent(Interpreter &interpreter, const Value &indent, JsonStyle &style) {
  style.hasIndent = isGiven(indent);
  if (!style.hasIndent)
    return {};
  if (indent.isText()) {
    style.indent = indent.text();
    return {};
  }
  SINTER_ASSIGN(const int64_t width, integerOr(indent, 0));
  const auto spaces = static_cast<size_t>(std::max<int64_t>(width, 0));
  SINTER_TRY(interpreter.checkRoom(spaces));
  style.indent = Text(std::string(spaces, ' '), Origin::Input);
  return {};
}

Result<Value> toJson(Interpreter &interpreter, BoundArguments arguments) {
  JsonStyle style;
  style.isAscii = truth(arguments[1]);
  SINTER_TRY(readIndent(interpreter, arguments[2], style));
  style.isSorted = truth(arguments[4]);
  style.betweenItems = Text(style.hasIndent ? "," : ", ", Origin::Input);
  style.afterKey = Text(": ", Origin::Input);
  if (isGiven(arguments[3])) {
    SINTER_ASSIGN(const std::vector<Value> pair, itemsOf(interpreter, arguments[3]));
    if (pair.size() != 2)
      return fail(Code::InvalidArgument,
                  "separators are " + std::to_string(pair.size()) + " texts, expected 2");
    SINTER_ASSIGN(style.betweenItems, textArgument(pair[0]));
    SINTER_ASSIGN(style.afterKey, textArgument(pair[1]));
  }
  return jsonText(interpreter, arguments[0], style);
}

Result<Value> fromJson(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_TRY(textArgument(arguments[0]));
  SINTER_TRY(interpreter.spend(1 + arguments[0].bytes().size() / 4));
  SINTER_TRY(interpreter.checkRoom(arguments[0].bytes().size() * sizeof(Value)));
  auto read = inputFromJson(arguments[0].bytes());
  if (!read)
    return fail(read.error().code, read.error().message);
  return interpreter.from(*read);
}

constexpr Builtin kFilters[] = {
    {"abs", "x", absolute},
    {"d", "value default_value? boolean?", defaulted},
    {"default", "value default_value? boolean?", defaulted},
    {"float", "value default?", real},
    {"from_json", "value", fromJson},
    {"int", "value default? base?", integer},
    {"round", "value precision? method?", round},
    {"tojson", "x ensure_ascii? indent? separators? sort_keys?", toJson},
};

} // namespace

std::span<const Builtin> valueFilters() {
  return kFilters;
}

} // namespace sinter::jinja
