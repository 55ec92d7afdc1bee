// Routes that tell how the server is, without a model.
#pragma once

#include "serve/http/routes.h"

namespace sinter::serve {

// GET /health: {"status":"ok"}, without a key. GET /version: {"version":"..."}.
void addStatusRoutes(Routes &routes, const std::string &version);

} // namespace sinter::serve
