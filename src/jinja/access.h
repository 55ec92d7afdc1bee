// What `object.name`, `object[key]` and `object[start:stop:step]` are.
#pragma once

#include "jinja/runtime.h"

namespace sinter::jinja {

// A method or, failing that, the value of a key; else Undefined, which says what was missing.
Result<Value> attributeOf(Runtime &runtime, const Value &object, std::string_view name);
// The value of a key or the item of an index or, failing that, a method; else Undefined.
Result<Value> itemOf(Runtime &runtime, const Value &object, const Value &key);
// As itemOf, by a name with dots that filters take: "function.name", "0.id".
Result<Value> itemByPath(Runtime &runtime, const Value &object, const Value &path);

// Bounds as given; Missing or None where there is none. InvalidArgument: it has no slices, a bound
// is no whole number, the step is zero.
Result<Value> sliceOf(Runtime &runtime, const Value &object, const Value &start, const Value &stop,
                      const Value &step);

} // namespace sinter::jinja
