// Numbers of all types compare by value, truth values among them; texts by characters.
#include "jinja/compare.h"

#include "jinja/convert.h"

#include <cmath>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

bool equalNumbers(const Value &a, const Value &b) {
  if (a.isIntegral() && b.isIntegral())
    return a.integer() == b.integer();
  return a.real() == b.real();
}

class Equality {
public:
  explicit Equality(Runtime &runtime) : runtime_(runtime) {}

  Result<bool> of(const Value &a, const Value &b) {
    if (a.isNumber() && b.isNumber())
      return equalNumbers(a, b);
    if (a.kind() != b.kind())
      return false;
    switch (a.kind()) {
    case Kind::Undefined:
    case Kind::None:
      return true;
    case Kind::Text:
      SINTER_TRY(runtime_.spendBytes(std::min(a.bytes().size(), b.bytes().size())));
      return a.bytes() == b.bytes();
    case Kind::List:
    case Kind::Tuple:
    case Kind::Range:
      return ofItems(a.items().items, b.items().items);
    case Kind::Dict:
      return ofDicts(a.dict(), b.dict());
    default:
      return a.object() == b.object();
    }
  }

private:
  Result<bool> ofItems(const std::vector<Value> &a, const std::vector<Value> &b) {
    if (a.size() != b.size())
      return false;
    SINTER_TRY(enter());
    for (size_t i = 0; i < a.size(); ++i) {
      SINTER_TRY(runtime_.spend());
      SINTER_ASSIGN(const bool isSame, of(a[i], b[i]));
      if (!isSame)
        return leave(false);
    }
    return leave(true);
  }
  Result<bool> ofDicts(const DictObject &a, const DictObject &b) {
    if (a.entries.size() != b.entries.size())
      return false;
    SINTER_TRY(enter());
    for (const DictObject::Entry &entry : a.entries) {
      SINTER_TRY(runtime_.spendLookup(b, entry.key));
      const Value *other = find(b, entry.key);
      if (!other)
        return leave(false);
      SINTER_ASSIGN(const bool isSame, of(entry.value, *other));
      if (!isSame)
        return leave(false);
    }
    return leave(true);
  }
  Result<void> enter() {
    return ++depth_ <= runtime_.limits().valueDepth ? Result<void>() : tooDeep(runtime_);
  }
  bool leave(bool result) {
    --depth_;
    return result;
  }

  Runtime &runtime_;
  uint32_t depth_ = 0;
};

std::strong_ordering orderOf(double a, double b) {
  return a < b   ? std::strong_ordering::less
         : a > b ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

bool isOrderedSequence(const Value &value) {
  return value.is(Kind::List) || value.is(Kind::Tuple);
}

Fail hasNoOrder(const Value &a, const Value &b, std::string_view op) {
  if (a.isUndefined() || b.isUndefined())
    return isUndefined(a.isUndefined() ? a : b);
  return fail(Code::InvalidArgument, "'" + std::string(op) + "' between '" +
                                         std::string(typeName(a)) + "' and '" +
                                         std::string(typeName(b)) + "' is not defined");
}

// By the first items that differ. Sequences within sequences are walked, not recursed into.
Result<std::strong_ordering> orderSequences(Runtime &runtime, Value a, Value b,
                                            std::string_view op) {
  for (uint32_t depth = 0; depth <= runtime.limits().valueDepth; ++depth) {
    const std::vector<Value> &left = a.items().items, &right = b.items().items;
    const size_t shared = std::min(left.size(), right.size());
    size_t at = 0;
    for (; at < shared; ++at) {
      SINTER_ASSIGN(const bool isSame, equal(runtime, left[at], right[at]));
      if (!isSame)
        break;
    }
    if (at == shared)
      return left.size() <=> right.size();
    const Value x = left[at], y = right[at];
    if (!isOrderedSequence(x) || x.kind() != y.kind())
      return order(runtime, x, y, op);
    a = x;
    b = y;
  }
  return tooDeep(runtime);
}

} // namespace

Result<bool> equal(Runtime &runtime, const Value &a, const Value &b) {
  return Equality(runtime).of(a, b);
}

Result<std::strong_ordering> order(Runtime &runtime, const Value &a, const Value &b,
                                   std::string_view op) {
  SINTER_TRY(runtime.spend());
  if (a.isIntegral() && b.isIntegral())
    return a.integer() <=> b.integer();
  if (a.isNumber() && b.isNumber())
    return orderOf(a.real(), b.real());
  if (a.isText() && b.isText()) {
    SINTER_TRY(runtime.spendBytes(std::min(a.bytes().size(), b.bytes().size())));
    return a.bytes().compare(b.bytes()) <=> 0;
  }
  if (isOrderedSequence(a) && a.kind() == b.kind())
    return orderSequences(runtime, a, b, op);
  return hasNoOrder(a, b, op);
}

Result<bool> isOrdered(Runtime &runtime, const Value &a, std::string_view op, const Value &b) {
  SINTER_ASSIGN(const std::strong_ordering found, order(runtime, a, b, op));
  if (a.isNumber() && b.isNumber() && (std::isnan(a.real()) || std::isnan(b.real())))
    return false;
  const bool isSame = found == 0 && op.size() == 2;
  return isSame || (op[0] == '<' ? found < 0 : found > 0);
}

Result<bool> contains(Runtime &runtime, const Value &haystack, const Value &needle) {
  if (haystack.isText()) {
    if (!needle.isText())
      return fail(Code::InvalidArgument, "'in' looks for a '" + std::string(typeName(needle)) +
                                             "' in a text, expected a text");
    SINTER_TRY(runtime.spendBytes(haystack.bytes().size()));
    return haystack.bytes().find(needle.bytes()) != std::string_view::npos;
  }
  if (haystack.is(Kind::Dict)) {
    if (!isHashable(needle))
      return fail(Code::InvalidArgument,
                  "a value of type '" + std::string(typeName(needle)) + "' cannot be a key");
    SINTER_TRY(runtime.spendLookup(haystack.dict(), needle));
    return find(haystack.dict(), needle) != nullptr;
  }
  if (haystack.isUndefined())
    return false;
  Cursor cursor{haystack};
  SINTER_TRY(checkIterable(haystack));
  while (true) {
    SINTER_TRY(runtime.spend());
    const Value item = nextItem(runtime, cursor);
    if (item.isMissing())
      return false;
    SINTER_ASSIGN(const bool isSame, equal(runtime, item, needle));
    if (isSame)
      return true;
  }
}

bool isSameKey(const Value &a, const Value &b) {
  if (a.isNumber() && b.isNumber())
    return equalNumbers(a, b);
  if (a.kind() != b.kind())
    return false;
  if (a.isText())
    return a.bytes() == b.bytes();
  if (a.is(Kind::Tuple)) {
    const std::vector<Value> &left = a.items().items, &right = b.items().items;
    bool isSame = left.size() == right.size();
    for (size_t i = 0; isSame && i < left.size(); ++i)
      isSame = isSameKey(left[i], right[i]);
    return isSame;
  }
  return a.is(Kind::None) || a.isUndefined() || a.object() == b.object();
}

} // namespace sinter::jinja
