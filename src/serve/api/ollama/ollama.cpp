// The table of Ollama's routes.
#include "serve/api/ollama/ollama.h"

#include "serve/api/embedding_request.h"
#include "serve/api/ollama/generate.h"
#include "serve/api/ollama/models.h"

namespace sinter::serve {
namespace {

std::string embedBody(const std::string &model, const EmbeddingAnswer &answer) {
  std::string vectors;
  for (const auto &row : answer.rows)
    vectors += (vectors.empty() ? "" : ",") + vectorText(row);
  const auto nanoseconds = [](double seconds) {
    return std::to_string(static_cast<int64_t>(seconds * 1e9));
  };
  return "{\"model\":" + jsonText(model) + ",\"embeddings\":[" + vectors +
         "],\"total_duration\":" + nanoseconds(answer.totalSeconds) +
         ",\"load_duration\":" + nanoseconds(answer.loadSeconds) +
         ",\"prompt_eval_count\":" + std::to_string(answer.tokens) + "}";
}

BodyHandler embed(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    EmbeddingRequest made;
    made.model = modelOf(context, body);
    made.texts = readPrompts(body, "input", kMostEmbeddingTexts);
    made.dimensions = static_cast<size_t>(body.whole("dimensions", 1, 1 << 20).value_or(0));
    made.truncates = body.boolean("truncate").value_or(false);
    ollama::readLoad(body);
    SINTER_TRY(check(body.problem()));
    const std::string model = made.model;
    startEmbedding(
        context, std::move(made), ollamaError,
        [model](const EmbeddingAnswer &answer) { return embedBody(model, answer); },
        std::move(responder));
    return {};
  };
}

// The older route: one text, one vector.
BodyHandler embeddings(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    EmbeddingRequest made;
    made.model = modelOf(context, body);
    made.texts = {body.requiredText("prompt")};
    ollama::readLoad(body);
    SINTER_TRY(check(body.problem()));
    startEmbedding(
        context, std::move(made), ollamaError,
        [](const EmbeddingAnswer &answer) {
          return "{\"embedding\":" + vectorText(answer.rows.front()) + "}";
        },
        std::move(responder));
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
  ollama::addStore(routes);
  return routes;
}

} // namespace sinter::serve
