// GET /v1/models and /v1/models/{model}, and what OpenAI has that is not served.
#pragma once

#include "serve/api/openai/common.h"
#include "serve/http/routes.h"

namespace sinter::serve::openai {

HttpHandler listModels(ApiContext &context);
void addModels(ApiContext &context, std::vector<Route> &routes);
// Each is refused by its name, for every method that OpenAI's clients use.
void addRefusals(std::vector<Route> &routes);

} // namespace sinter::serve::openai
