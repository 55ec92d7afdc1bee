// Ollama's routes: generate, chat, embed, embeddings, tags, show, ps, version; pull, create, copy,
// delete and blobs, which change the models that are stored.
#pragma once

#include "serve/api/api_context.h"
#include "serve/http/routes.h"

namespace sinter::serve {

// The context outlives the routes.
std::vector<Route> ollamaRoutes(ApiContext &context);

} // namespace sinter::serve
