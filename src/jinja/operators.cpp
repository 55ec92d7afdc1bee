// Python's arithmetic, within 64 bits.
#include "jinja/operators.h"

#include "jinja/convert.h"

#include <cmath>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

std::string_view opName(BinaryOp op) {
  constexpr std::string_view kNames[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kNames[static_cast<size_t>(op)];
}

Fail isTooLarge() {
  return fail(Code::Unsupported, "a whole number leaves 64 bits");
}
Fail dividesByZero() {
  return fail(Code::InvalidArgument, "division by zero");
}
Fail hasNoOperation(BinaryOp op, const Value &a, const Value &b) {
  if (a.isUndefined() || b.isUndefined())
    return isUndefined(a.isUndefined() ? a : b);
  return fail(Code::InvalidArgument, "'" + std::string(opName(op)) + "' between '" +
                                         std::string(typeName(a)) + "' and '" +
                                         std::string(typeName(b)) + "' is not defined");
}

Result<Value> checkedInteger(bool hasOverflow, int64_t value, Origin origin) {
  return hasOverflow ? Result<Value>(isTooLarge()) : Value::integer(value, origin);
}

// The quotient rounds down, the remainder has the divisor's sign.
Result<Value> floorDivide(int64_t a, int64_t b, bool wantsRemainder, Origin origin) {
  if (b == 0)
    return dividesByZero();
  if (b == -1) // INT64_MIN / -1 overflows
    return wantsRemainder ? Result<Value>(Value::integer(0, origin))
                          : negated(Value::integer(a, origin));
  int64_t quotient = a / b, remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) {
    --quotient;
    remainder += b;
  }
  return Value::integer(wantsRemainder ? remainder : quotient, origin);
}

Result<Value> integers(BinaryOp op, const Value &x, const Value &y) {
  const int64_t a = x.integer(), b = y.integer();
  const Origin origin = joined(x.origin(), y.origin());
  int64_t result = 0;
  switch (op) {
  case BinaryOp::Add:
    return checkedInteger(__builtin_add_overflow(a, b, &result), result, origin);
  case BinaryOp::Subtract:
    return checkedInteger(__builtin_sub_overflow(a, b, &result), result, origin);
  case BinaryOp::Multiply:
    return checkedInteger(__builtin_mul_overflow(a, b, &result), result, origin);
  case BinaryOp::Divide:
    if (b == 0)
      return dividesByZero();
    return Value::real(static_cast<double>(a) / static_cast<double>(b), origin);
  case BinaryOp::FloorDivide:
  case BinaryOp::Modulo:
    return floorDivide(a, b, op == BinaryOp::Modulo, origin);
  case BinaryOp::Power:
    return powerOf(x, y);
  }
  return isTooLarge();
}

double floorRemainder(double a, double b) {
  double remainder = std::fmod(a, b);
  if (remainder == 0)
    return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
// The quotient that fits the remainder, rounded as Python does.
double floorQuotient(double a, double b) {
  const double quotient = (a - floorRemainder(a, b)) / b;
  const double whole = std::floor(quotient);
  if (quotient == 0)
    return std::copysign(0.0, a / b);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Result<Value> reals(BinaryOp op, const Value &x, const Value &y) {
  const double a = x.real(), b = y.real();
  const Origin origin = joined(x.origin(), y.origin());
  const bool divides =
      op == BinaryOp::Divide || op == BinaryOp::FloorDivide || op == BinaryOp::Modulo;
  if (divides && b == 0)
    return dividesByZero();
  switch (op) {
  case BinaryOp::Add:
    return Value::real(a + b, origin);
  case BinaryOp::Subtract:
    return Value::real(a - b, origin);
  case BinaryOp::Multiply:
    return Value::real(a * b, origin);
  case BinaryOp::Divide:
    return Value::real(a / b, origin);
  case BinaryOp::FloorDivide:
    return Value::real(floorQuotient(a, b), origin);
  case BinaryOp::Modulo:
    return Value::real(floorRemainder(a, b), origin);
  case BinaryOp::Power:
    return powerOf(x, y);
  }
  return isTooLarge();
}

Result<Value> addTexts(Runtime &runtime, const Value &a, const Value &b) {
  const bool safe = isSafe(a) || isSafe(b);
  TextBuilder out(runtime);
  for (const Value *part : {&a, &b}) {
    if (!safe) {
      out.add(part->text());
      continue;
    }
    SINTER_ASSIGN(const Text text, escaped(runtime, *part));
    out.add(text);
  }
  return out.finish(safe);
}

Result<Value> addItems(Runtime &runtime, const Value &a, const Value &b) {
  std::vector<Value> items = a.items().items;
  const std::vector<Value> &more = b.items().items;
  SINTER_TRY(runtime.spend(items.size() + more.size()));
  items.insert(items.end(), more.begin(), more.end());
  return a.is(Kind::List) ? runtime.list(std::move(items)) : runtime.tuple(std::move(items));
}

Result<Value> repeatText(Runtime &runtime, const Value &text, int64_t count) {
  TextBuilder out(runtime);
  const bool isEmpty = text.text().empty();
  for (int64_t i = 0; i < count && !isEmpty && !out.isFull(); ++i) {
    SINTER_TRY(runtime.spendBytes(text.text().size()));
    out.add(text.text());
  }
  return out.finish(isSafe(text));
}

Result<Value> repeatItems(Runtime &runtime, const Value &sequence, int64_t count) {
  const std::vector<Value> &once = sequence.items().items;
  std::vector<Value> items;
  for (int64_t i = 0; i < count && !once.empty(); ++i) {
    SINTER_TRY(runtime.spend(once.size()));
    SINTER_TRY(runtime.checkRoomForItems(items.size() + once.size()));
    items.insert(items.end(), once.begin(), once.end());
  }
  return sequence.is(Kind::List) ? runtime.list(std::move(items)) : runtime.tuple(std::move(items));
}

bool isSequence(const Value &value) {
  return value.is(Kind::List) || value.is(Kind::Tuple);
}

} // namespace

bool isSafe(const Value &text) {
  return text.isText() && static_cast<const TextObject *>(text.object())->isSafe;
}

Result<Text> escaped(Runtime &runtime, const Value &value) {
  SINTER_ASSIGN(Text text, textOf(runtime, value));
  if (isSafe(value))
    return text;
  TextBuilder out(runtime);
  constexpr std::string_view kSpecial = "&<>'\"";
  constexpr std::string_view kNames[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  size_t done = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t special = kSpecial.find(text.bytes()[at]);
    if (special == std::string_view::npos)
      continue;
    out.add(text, done, at);
    out.add(kNames[special], text.originAt(at));
    done = at + 1;
  }
  out.add(text, done, text.size());
  return out.take();
}

Result<Value> powerOf(const Value &value, const Value &exponent) {
  const Origin origin = joined(value.origin(), exponent.origin());
  if (!value.isIntegral() || !exponent.isIntegral() || exponent.integer() < 0) {
    const double base = value.real(), power = exponent.real();
    if (base == 0 && power < 0)
      return dividesByZero();
    const double result = std::pow(base, power);
    const bool isFinite = std::isfinite(base) && std::isfinite(power);
    if (isFinite && !std::isfinite(result))
      return fail(Code::InvalidArgument, "the result of '**' is no real number");
    return Value::real(result, origin);
  }
  int64_t result = 1;
  for (int64_t i = exponent.integer(), base = value.integer(); i > 0; i /= 2) {
    if (i % 2 == 1 && __builtin_mul_overflow(result, base, &result))
      return isTooLarge();
    if (i > 1 && __builtin_mul_overflow(base, base, &base))
      return isTooLarge();
  }
  return Value::integer(result, origin);
}

Result<Value> binary(Runtime &runtime, BinaryOp op, const Value &a, const Value &b) {
  if (a.isIntegral() && b.isIntegral())
    return integers(op, a, b);
  if (a.isNumber() && b.isNumber())
    return reals(op, a, b);
  if (op == BinaryOp::Modulo && a.isText())
    return percentFormat(runtime, a, b);
  if (op == BinaryOp::Add && a.isText() && b.isText())
    return addTexts(runtime, a, b);
  if (op == BinaryOp::Add && isSequence(a) && a.kind() == b.kind())
    return addItems(runtime, a, b);
  if (op == BinaryOp::Multiply && (a.isIntegral() || b.isIntegral())) {
    const Value &count = a.isIntegral() ? a : b, &repeated = a.isIntegral() ? b : a;
    if (repeated.isText())
      return repeatText(runtime, repeated, count.integer());
    if (isSequence(repeated))
      return repeatItems(runtime, repeated, count.integer());
  }
  return hasNoOperation(op, a, b);
}

Result<Value> negated(const Value &value) {
  if (value.is(Kind::Float))
    return Value::real(-value.real(), value.origin());
  if (!value.isIntegral())
    return wrongType("a number", value);
  int64_t result = 0;
  return checkedInteger(__builtin_sub_overflow(int64_t{0}, value.integer(), &result), result,
                        value.origin());
}
Result<Value> unchanged(const Value &value) {
  if (value.is(Kind::Float))
    return value;
  if (!value.isIntegral())
    return wrongType("a number", value);
  return Value::integer(value.integer(), value.origin());
}

} // namespace sinter::jinja
