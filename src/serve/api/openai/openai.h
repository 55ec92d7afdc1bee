// OpenAI's routes: chat and text completions, embeddings, models, responses.
#pragma once

#include "serve/api/api_context.h"
#include "serve/http/routes.h"

namespace sinter::serve {

// The context outlives the routes.
std::vector<Route> openaiRoutes(ApiContext &context);

} // namespace sinter::serve
