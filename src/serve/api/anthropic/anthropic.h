// Anthropic's routes.
#pragma once

#include "serve/api/api_context.h"
#include "serve/http/routes.h"

namespace sinter::serve {

// The context outlives the routes.
std::vector<Route> anthropicRoutes(ApiContext &context);

} // namespace sinter::serve
