// How builtins read their arguments.
#pragma once

#include "jinja/builtins.h"
#include "jinja/convert.h"

namespace sinter::jinja {

// Whether an argument was given and is not None.
inline bool isGiven(const Value &value) {
  return !value.isMissing() && !value.is(Value::Kind::None);
}

// A whole number, or `initial` where none was given.
inline Result<int64_t> integerOr(const Value &value, int64_t initial) {
  if (value.isMissing())
    return initial;
  return value.isIntegral() ? Result<int64_t>(value.integer()) : wrongType("a whole number", value);
}

// A text; InvalidArgument for another type.
inline Result<Text> textArgument(const Value &value) {
  return value.isText() ? Result<Text>(value.text()) : wrongType("a text", value);
}

} // namespace sinter::jinja
