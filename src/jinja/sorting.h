// Sorting with comparisons that can fail.
#pragma once

#include "jinja/compare.h"

namespace sinter::jinja {

// The order in which values with these keys are sorted, equal ones as they were.
Result<std::vector<size_t>> sortedOrder(Runtime &runtime, const std::vector<Value> &keys,
                                        bool isReversed);

// A text in lower case; others as they are.
Result<Value> withoutCase(Runtime &runtime, const Value &value);

} // namespace sinter::jinja
