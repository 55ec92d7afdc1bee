// Lines of the head of an answer.
#pragma once

#include "store/http_client.h"

#include <string_view>

namespace sinter::store {

// Notes what a line says. A status line begins anew: several answers come where the first ones are
// not final. `line` is hostile: what is malformed counts as absent, and is refused by whoever needs
// it.
void readHeadLine(std::string_view line, HttpHead &head);

} // namespace sinter::store
