// The families of APIs, in the order in which paths are tried.
#include "serve/api/api_routes.h"

#include "serve/api/anthropic/anthropic.h"
#include "serve/api/native/native.h"
#include "serve/api/ollama/ollama.h"
#include "serve/api/openai/openai.h"

namespace sinter::serve {

void addApiRoutes(Routes &routes, ApiContext &context) {
  for (const auto makeFamily : {openaiRoutes, anthropicRoutes, ollamaRoutes, nativeRoutes})
    for (Route &route : makeFamily(context))
      routes.add(std::move(route));
  routes.setErrorBody("/api", plainErrorBody);
}

} // namespace sinter::serve
