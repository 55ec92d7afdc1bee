// Values as texts, as truth values, as numbers, and item by item.
#pragma once

#include "jinja/runtime.h"

namespace sinter::jinja {

// str(value): what a value is written as. Exhausted: nested too deeply, or no room.
Result<Text> textOf(Runtime &runtime, const Value &value);
// repr(value): as within lists.
Result<Text> reprOf(Runtime &runtime, const Value &value);
// What Python's float prints: 0.1, 1e+16, inf.
std::string floatText(double value);

bool truth(const Value &value);

// Whether a value can be looped over; InvalidArgument, with its type, where not.
Result<void> checkIterable(const Value &value);
bool isIterable(const Value &value);
// The next item of what is iterable; Missing at the end.
Value nextItem(Runtime &runtime, Cursor &cursor);
// All that is left of it.
Result<std::vector<Value>> itemsOf(Runtime &runtime, const Value &iterable);
// len(value). InvalidArgument, with its type, where it has none.
Result<int64_t> lengthOf(const Value &value);
// A position counted from the end where it is negative, within [0, size].
size_t clampedIndex(int64_t index, size_t size);

// "'tools' is undefined" as an error.
Fail isUndefined(const Value &undefined);
Fail tooDeep(const Runtime &runtime);
// "expected a number, found a 'str'".
Fail wrongType(std::string_view expected, const Value &found);

} // namespace sinter::jinja
