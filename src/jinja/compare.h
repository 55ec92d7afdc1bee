// Equality, order and membership, as Python has them.
#pragma once

#include "jinja/runtime.h"

#include <compare>

namespace sinter::jinja {

// a == b. Exhausted: nested too deeply, or too many steps.
Result<bool> equal(Runtime &runtime, const Value &a, const Value &b);
// Whether a < b, a == b or a > b. InvalidArgument, naming `op` and both types: they have no order.
Result<std::strong_ordering> order(Runtime &runtime, const Value &a, const Value &b,
                                   std::string_view op = "<");
// a OP b for "<", "<=", ">" and ">=". A NaN is in no order.
Result<bool> isOrdered(Runtime &runtime, const Value &a, std::string_view op, const Value &b);
// needle in haystack. InvalidArgument: the haystack holds nothing.
Result<bool> contains(Runtime &runtime, const Value &haystack, const Value &needle);

// Equality of keys, which hold neither lists nor dicts.
bool isSameKey(const Value &a, const Value &b);

} // namespace sinter::jinja
