// The table of Ollama's routes.
#include "serve/api/ollama/ollama.h"

#include "serve/api/embedding_request.h"
#include "serve/api/ollama/changes.h"
#include "serve/api/ollama/generate.h"
#include "serve/api/ollama/models.h"

namespace sinter::serve {
namespace {

std::string embedBody(const std::string &model, const VectorAnswer &answer,
                      const VectorTimes &times) {
  std::string vectors;
  for (const auto &row : answer.rows)
    vectors += (vectors.empty() ? "" : ",") + vectorText(row);
  const auto nanoseconds = [](double seconds) {
    return std::to_string(static_cast<int64_t>(seconds * 1e9));
  };
  return "{\"model\":" + jsonText(model) + ",\"embeddings\":[" + vectors +
         "],\"total_duration\":" + nanoseconds(times.totalSeconds) +
         ",\"load_duration\":" + nanoseconds(times.loadSeconds) +
         ",\"prompt_eval_count\":" + std::to_string(answer.promptTokens) + "}";
}

BodyHandler embed(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    VectorRequest made;
    made.model = modelOf(context, body);
    made.encode = plainTextsOf(readPrompts(body, "input", kMostEmbeddingTexts));
    made.dimensions = static_cast<size_t>(body.whole("dimensions", 1, 1 << 20).value_or(0));
    made.truncates = body.boolean("truncate").value_or(false);
    made.load = ollama::readLoad(body);
    SINTER_TRY(check(body.problem()));
    made.queue = request.account;
    made.error = ollamaError;
    made.write = [model = made.model](const VectorAnswer &answer, const VectorTimes &times) {
      return embedBody(model, answer, times);
    };
    startVectors(context, std::move(made), std::move(responder));
    return {};
  };
}

// The older route: one text, one vector.
BodyHandler embeddings(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    VectorRequest made;
    made.model = modelOf(context, body);
    made.encode = plainTextsOf({body.requiredText("prompt")});
    made.load = ollama::readLoad(body);
    SINTER_TRY(check(body.problem()));
    made.queue = request.account;
    made.error = ollamaError;
    made.write = [](const VectorAnswer &answer, const VectorTimes &) {
      return "{\"embedding\":" + vectorText(answer.rows.front()) + "}";
    };
    startVectors(context, std::move(made), std::move(responder));
    return {};
  };
}

} // namespace

std::vector<Route> ollamaRoutes(ApiContext &context) {
  std::vector<Route> routes;
  const auto post = [&](const char *path, BodyHandler handler) {
    routes.push_back(
        {"POST", path, withBody(context, ollamaError, std::move(handler)), plainErrorBody});
  };
  post("/api/generate", ollama::generate(context));
  post("/api/chat", ollama::chat(context));
  post("/api/embed", embed(context));
  post("/api/embeddings", embeddings(context));
  ollama::addModels(context, routes);
  ollama::addChanges(context, routes);
  ollama::addRefusals(routes);
  return routes;
}

} // namespace sinter::serve
