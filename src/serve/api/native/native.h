// Routes of llama-server's own: completion, rerank, and its other path of chat completions.
#pragma once

#include "serve/api/api_context.h"
#include "serve/http/routes.h"

namespace sinter::serve {

// The context outlives the routes.
std::vector<Route> nativeRoutes(ApiContext &context);

} // namespace sinter::serve
