// All APIs of models in one call.
#pragma once

#include "serve/api/api_context.h"
#include "serve/http/routes.h"

namespace sinter::serve {

// OpenAI's, Ollama's and llama-server's own routes; errors below /api are in Ollama's shape. The
// context outlives the routes.
void addApiRoutes(Routes &routes, ApiContext &context);

} // namespace sinter::serve
