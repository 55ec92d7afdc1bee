// Arithmetic, on numbers, texts and sequences.
#pragma once

#include "jinja/runtime.h"
#include "jinja/tree.h"

namespace sinter::jinja {

// a OP b. InvalidArgument: the types have no such operation, or a division by zero. Unsupported: a
// whole number leaves 64 bits.
Result<Value> binary(Runtime &runtime, BinaryOp op, const Value &a, const Value &b);
// -value, or +value.
Result<Value> negated(const Value &value);
Result<Value> unchanged(const Value &value);

// value ** exponent, as far as numbers go.
Result<Value> powerOf(const Value &value, const Value &exponent);

// Whether a text was marked as HTML by `safe` or `escape`.
bool isSafe(const Value &text);
// With &, <, >, ' and " as HTML writes them; what is safe stays.
Result<Text> escaped(Runtime &runtime, const Value &value);

// format % arguments: a Tuple, a Dict or one value.
Result<Value> percentFormat(Runtime &runtime, const Value &format, const Value &arguments);
// format.format(*arguments, **keywords), with keywords a Dict. Fields may be named or numbered, and
// take attributes and keys.
Result<Value> braceFormat(Runtime &runtime, const Value &format,
                          const std::vector<Value> &arguments, const Value &keywords);

} // namespace sinter::jinja
