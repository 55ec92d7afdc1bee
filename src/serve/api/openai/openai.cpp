// The table of OpenAI's routes.
#include "serve/api/openai/openai.h"

#include "serve/api/openai/chat.h"

namespace sinter::serve {

std::vector<Route> openaiRoutes(ApiContext &context) {
  std::vector<Route> routes;
  const auto post = [&](const char *path, BodyHandler handler) {
    routes.push_back({"POST", path, withBody(context, openaiError, std::move(handler))});
  };
  post("/v1/chat/completions", openai::chatCompletions(context));
  return routes;
}

} // namespace sinter::serve
