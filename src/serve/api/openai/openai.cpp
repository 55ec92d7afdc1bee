// The table of OpenAI's routes.
#include "serve/api/openai/openai.h"

#include "serve/api/openai/chat.h"
#include "serve/api/openai/completions.h"
#include "serve/api/openai/embeddings.h"
#include "serve/api/openai/models.h"
#include "serve/api/openai/responses.h"

namespace sinter::serve {

std::vector<Route> openaiRoutes(ApiContext &context) {
  std::vector<Route> routes;
  const auto post = [&](const char *path, BodyHandler handler) {
    routes.push_back({"POST", path, withBody(context, openaiError, std::move(handler))});
  };
  post("/v1/chat/completions", openai::chatCompletions(context));
  post("/v1/completions", openai::completions(context));
  post("/v1/embeddings", openai::embeddings(context));
  post("/v1/responses", openai::responses(context));
  openai::addModels(context, routes);
  openai::addRefusals(routes);
  return routes;
}

} // namespace sinter::serve
