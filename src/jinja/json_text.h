// Values as JSON, in the spelling of Python's json.dumps.
#pragma once

#include "jinja/runtime.h"

namespace sinter::jinja {

struct JsonStyle {
  bool isAscii = false;   // other characters as \uXXXX
  bool isSorted = false;  // keys
  bool hasIndent = false; // a line for each item
  Text indent;            // of one level
  Text betweenItems, afterKey;
};

// InvalidArgument, with the type: a value that JSON does not have. Bytes of texts keep their
// origin; brackets, quotes and the like are of origin Input, so that no control token spans the
// data.
Result<Value> jsonText(Runtime &runtime, const Value &value, const JsonStyle &style);

} // namespace sinter::jinja
