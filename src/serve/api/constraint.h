// Answers that must have a form: the one place where requests for them are read.
#pragma once

#include "serve/api/request_reader.h"

namespace sinter::serve {

// Fields of every family that ask for a form: response_format, format, text.format, grammar,
// json_schema and the guided_* of peers. Forms that any text has, such as {"type": "text"}, are
// none. There is no grammar yet, so each is refused by its name.
void readConstraint(const RequestReader &request);

// Says that a field asks for `what`, which needs a grammar.
void refuseConstraint(const RequestReader &request, std::string_view field,
                      const std::string &what);

} // namespace sinter::serve
