// The JSON of a request's body.
#pragma once

#include "jinja/input.h"

namespace sinter::serve {

// Read by simdjson. Of a key that is there twice the last value counts. InvalidArgument: it is no
// JSON, no UTF-8, or nested deeper than jinja::kMostInputDepth; a whole number beyond 64 bits.
Result<jinja::Input> readRequestJson(std::string_view body);

} // namespace sinter::serve
