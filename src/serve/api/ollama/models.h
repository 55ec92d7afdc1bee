// Models as Ollama lists and shows them, and what is not served.
#pragma once

#include "serve/api/ollama/common.h"
#include "serve/http/routes.h"

namespace sinter::serve::ollama {

void addModels(ApiContext &context, std::vector<Route> &routes);
// push and systemone.
void addRefusals(std::vector<Route> &routes);

} // namespace sinter::serve::ollama
