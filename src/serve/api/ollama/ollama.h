// Ollama's routes: generate, chat, embed, embeddings, tags, show, ps, version; and what needs a
// store of models, which is refused until there is one.
#pragma once

#include "serve/api/api_context.h"
#include "serve/http/routes.h"

namespace sinter::serve {

// The context outlives the routes.
std::vector<Route> ollamaRoutes(ApiContext &context);

} // namespace sinter::serve
