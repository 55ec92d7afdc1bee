// The table of llama-server's routes, and ranks of documents.
#include "serve/api/native/native.h"

#include "serve/api/embedding_request.h"
#include "serve/api/json_text.h"
#include "serve/api/native/completion.h"
#include "serve/api/openai/chat.h"
#include "serve/api/openai/embeddings.h"
#include "serve/api/openai/models.h"
#include "serve/api/openai/responses.h"

#include <algorithm>

namespace sinter::serve {
namespace {

constexpr size_t kMostDocuments = 4096;

struct RerankRequest {
  std::string model, query;
  std::vector<std::string> documents;
  size_t most = SIZE_MAX; // documents of the answer
  bool givesTexts = false;
  bool isTei = false; // asked as Text Embeddings Inference is: a list, without usage
};

// Documents are texts, or objects with a text.
std::vector<std::string> readDocuments(const RequestReader &body, std::string_view name) {
  std::vector<std::string> documents;
  const jinja::Input::List *list = body.list(name, kMostDocuments);
  for (size_t i = 0; list && i < list->size(); ++i) {
    const jinja::Input &item = (*list)[i];
    const std::string path = body.pathOf(name) + "[" + std::to_string(i) + "]";
    if (item.text())
      documents.push_back(*item.text());
    else if (item.object())
      documents.push_back(RequestReader(item, path, body.problem()).requiredText("text"));
    else
      body.problem().note(Code::InvalidArgument,
                          "'" + path + "' is " + foundText(item) +
                              ", expected a text or an object with a 'text'",
                          path);
  }
  if (documents.empty() && body.isFine())
    body.wrong(name, "a list of at least one text");
  return documents;
}

std::string rankBody(const RerankRequest &request, const VectorAnswer &answer) {
  std::vector<size_t> order(answer.rows.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  const auto score = [&](size_t i) { return answer.rows[i].front(); };
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return score(a) != score(b) ? score(a) > score(b) : a < b;
  });
  order.resize(std::min(order.size(), request.most));
  Json results = Json::array();
  for (const size_t i : order) {
    Json result = {{"index", i}, {request.isTei ? "score" : "relevance_score", shortest(score(i))}};
    if (request.givesTexts && request.isTei)
      result["text"] = request.documents[i];
    else if (request.givesTexts)
      result["document"] = {{"text", request.documents[i]}};
    results.push_back(std::move(result));
  }
  if (request.isTei)
    return jsonText(results);
  return jsonText(
      {{"model", request.model},
       {"object", "list"},
       {"usage", {{"prompt_tokens", answer.promptTokens}, {"total_tokens", answer.promptTokens}}},
       {"results", std::move(results)}});
}

Result<std::vector<TextTokens>> pairsOf(const RerankRequest &request, const ModelFile &file) {
  std::vector<TextTokens> pairs;
  for (const std::string &document : request.documents) {
    SINTER_ASSIGN(TextTokens ids, file.encodePair(request.query, document));
    pairs.push_back(std::move(ids));
  }
  return pairs;
}

BodyHandler rerank(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    auto read = std::make_shared<RerankRequest>();
    read->model = modelOf(context, body);
    read->query = body.requiredText("query");
    read->isTei = body.find("texts") != nullptr;
    read->documents = readDocuments(body, read->isTei ? "texts" : "documents");
    if (const auto most = body.whole("top_n", 1, INT32_MAX))
      read->most = static_cast<size_t>(*most);
    read->givesTexts =
        body.boolean(read->isTei ? "return_text" : "return_documents").value_or(false);
    SINTER_TRY(check(body.problem()));
    VectorRequest made;
    made.model = read->model;
    made.ranks = true;
    made.encode = [read](const ModelFile &file) { return pairsOf(*read, file); };
    made.queue = request.account;
    made.error = openaiError;
    made.write = [read](const VectorAnswer &answer, const VectorTimes &) {
      return rankBody(*read, answer);
    };
    startVectors(context, std::move(made), std::move(responder));
    return {};
  };
}

} // namespace

std::vector<Route> nativeRoutes(ApiContext &context) {
  std::vector<Route> routes;
  const auto post = [&](const char *path, BodyHandler handler) {
    routes.push_back({"POST", path, withBody(context, openaiError, std::move(handler))});
  };
  for (const char *path : {"/completion", "/completions"})
    post(path, native::completion(context));
  post("/infill", native::infill(context));
  // OpenAI's routes without the version, as llama-server has them too.
  post("/chat/completions", openai::chatCompletions(context));
  post("/embeddings", openai::embeddings(context));
  post("/responses", openai::responses(context));
  routes.push_back({"GET", "/models", openai::listModels(context)});
  for (const char *path : {"/rerank", "/v1/rerank", "/reranking", "/v1/reranking"})
    post(path, rerank(context));
  return routes;
}

} // namespace sinter::serve
