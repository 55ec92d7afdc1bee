// What each keyword of JSON Schema is to us.
#pragma once

#include "base/status.h"

#include <string_view>

namespace sinter::grammar {

enum class KeywordUse : uint8_t { Enforced, Note, Refused };

// Those that the draft does not know are notes.
KeywordUse keywordUse(std::string_view keyword);

} // namespace sinter::grammar
