// Models as Ollama lists and shows them, and what needs a store of models.
#pragma once

#include "serve/api/ollama/common.h"
#include "serve/http/routes.h"

namespace sinter::serve::ollama {

void addModels(ApiContext &context, std::vector<Route> &routes);
// pull, push, create, copy, delete, blobs: refused until there is a store; and systemone.
void addRefusals(std::vector<Route> &routes);

} // namespace sinter::serve::ollama
