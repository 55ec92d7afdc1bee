// The steps of a `for`, and what its `loop` knows.
#pragma once

#include "jinja/runtime.h"

namespace sinter::jinja {

// Moves on to the next item. False at the end.
Result<bool> advance(LoopObject &loop);
// A field such as `index0`, or a method; Undefined where there is none of the name.
Result<Value> loopField(Runtime &runtime, const Value &loop, std::string_view name);

} // namespace sinter::jinja
