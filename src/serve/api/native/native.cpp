// The table of llama-server's routes, and ranks of documents.
#include "serve/api/native/native.h"

#include "serve/api/json_text.h"
#include "serve/api/native/completion.h"
#include "serve/api/prompt_texts.h"

#include <algorithm>

namespace sinter::serve {
namespace {

constexpr size_t kMostDocuments = 4096;

struct RerankRequest {
  std::string model, query;
  std::vector<std::string> documents;
  size_t most = SIZE_MAX; // documents of the answer
  bool givesTexts = false;
};

// Documents are texts, or objects with a text.
std::vector<std::string> readDocuments(const RequestReader &body, std::string_view name) {
  std::vector<std::string> documents;
  const jinja::Input::List *list = body.list(name, kMostDocuments);
  for (size_t i = 0; list && i < list->size(); ++i) {
    const jinja::Input &item = (*list)[i];
    if (item.text())
      documents.push_back(*item.text());
    else
      documents.push_back(
          RequestReader(item, body.pathOf(name) + "[" + std::to_string(i) + "]", body.problem())
              .requiredText("text"));
  }
  if (documents.empty())
    body.wrong(name, "a list of at least one text");
  return documents;
}

std::string rankBody(const RerankRequest &request, const EmbeddingAnswer &answer) {
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
    Json result = {{"index", i}, {"relevance_score", shortest(score(i))}};
    if (request.givesTexts)
      result["document"] = {{"text", request.documents[i]}};
    results.push_back(std::move(result));
  }
  return jsonText({{"model", request.model},
                   {"object", "list"},
                   {"usage", {{"prompt_tokens", answer.tokens}, {"total_tokens", answer.tokens}}},
                   {"results", std::move(results)}});
}

EmbeddingJob rankJob(std::shared_ptr<const RerankRequest> request) {
  EmbeddingJob job;
  job.ranks = true;
  job.encode = [request](const ModelFile &file) -> Result<std::vector<TextTokens>> {
    std::vector<TextTokens> pairs;
    for (const std::string &document : request->documents) {
      SINTER_ASSIGN(TextTokens ids, file.encodePair(request->query, document));
      pairs.push_back(std::move(ids));
    }
    return pairs;
  };
  return job;
}

BodyHandler rerank(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    auto made = std::make_shared<RerankRequest>();
    made->model = modelOf(context, body);
    made->query = body.requiredText("query");
    made->documents = readDocuments(body, body.find("texts") ? "texts" : "documents");
    if (const auto most = body.whole("top_n", 1, INT32_MAX))
      made->most = static_cast<size_t>(*most);
    made->givesTexts = body.boolean("return_documents").value_or(false);
    SINTER_TRY(check(body.problem()));
    if (!context.embeddings)
      return tl::unexpected(ApiError(Code::Unsupported, "this server ranks no documents"));
    context.embeddings->run(made->model, rankJob(made), [made, responder](auto answer) {
      HttpResponse response;
      if (answer)
        response.body = rankBody(*made, *answer);
      else
        response = openaiError(answer.error());
      responder->respond(std::move(response));
    });
    return {};
  };
}

} // namespace

std::vector<Route> nativeRoutes(ApiContext &context) {
  std::vector<Route> routes;
  const auto post = [&](const char *path, BodyHandler handler) {
    routes.push_back({"POST", path, withBody(context, openaiError, std::move(handler))});
  };
  post("/completion", native::completion(context));
  for (const char *path : {"/rerank", "/v1/rerank", "/reranking", "/v1/reranking"})
    post(path, rerank(context));
  return routes;
}

} // namespace sinter::serve
