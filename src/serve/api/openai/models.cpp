// The list of models, and refusals.
#include "serve/api/openai/models.h"

#include "base/nearest.h"

#include <algorithm>

namespace sinter::serve::openai {
namespace {

Json modelJson(const ApiContext &context, const std::string &name) {
  return {{"id", name},
          {"object", "model"},
          {"created",
           std::chrono::duration_cast<std::chrono::seconds>(context.started.time_since_epoch())
               .count()},
          {"owned_by", "sinter"}};
}

HttpResponse modelList(const ApiContext &context) {
  Json data = Json::array();
  for (const std::string &name : context.models.names())
    data.push_back(modelJson(context, name));
  HttpResponse response;
  response.body = jsonText({{"object", "list"}, {"data", std::move(data)}});
  return response;
}

HttpResponse showModel(const ApiContext &context, const std::string &name) {
  const std::vector<std::string> names = context.models.names();
  if (std::ranges::find(names, name) == names.end())
    return openaiError(
        {Code::NotFound, "there is no model '" + name + "'" + nearestHint(name, names), "model"});
  HttpResponse response;
  response.body = jsonText(modelJson(context, name));
  return response;
}

struct Refusal {
  const char *path; // and all below it
  const char *what;
};
constexpr Refusal kRefusals[] = {
    {"/v1/audio", "audio is not served"},
    {"/v1/images", "images are not served"},
    {"/v1/videos", "videos are not served"},
    {"/v1/realtime", "realtime sessions are not served"},
    {"/v1/live", "live sessions are not served"},
    {"/v1/files", "files are not kept here"},
    {"/v1/uploads", "files are not kept here"},
    {"/v1/vector_stores", "files are not kept here"},
    {"/v1/batches", "batches are not served"},
    {"/v1/fine_tuning", "models are not trained here"},
    {"/v1/moderations", "there is no moderation"},
    {"/v1/safety", "there is no moderation"},
    {"/v1/assistants", "assistants are not served"},
    {"/v1/threads", "assistants are not served"},
    {"/v1/chatkit", "assistants are not served"},
    {"/v1/agents", "agents are not served"},
    {"/v1/vaults", "agents are not served"},
    {"/v1/skills", "skills are not served"},
    {"/v1/decisions", "decisions are not served"},
    {"/v1/content_provenance_checks", "provenance is not checked"},
    {"/v1/webhook_endpoints", "webhooks are not served"},
    {"/v1/webhook_event_types", "webhooks are not served"},
    {"/v1/evals", "evals are not served"},
    {"/v1/containers", "containers are not served"},
    {"/v1/conversations", "conversations are not kept; send all messages with each request"},
    {"/v1/responses/{rest...}", "responses are not kept; 'store' is false"},
    {"/v1/chat/completions", "completions are not kept; 'store' is false"},
    {"/lora-adapters", "there are no adapters"},
    {"/v1/organization", "there are no organizations"},
    {"/v1/projects", "there are no organizations"},
};

// Its clients try again after a status of 5xx unless they are told not to.
HttpResponse refusal(const Refusal &row) {
  HttpResponse response = openaiError({Code::Unsupported, row.what});
  response.status = 501;
  response.headers.emplace_back("x-should-retry", "false");
  return response;
}

} // namespace

HttpHandler listModels(ApiContext &context) {
  return [&context](HttpRequest, const std::shared_ptr<Responder> &responder) {
    responder->respond(modelList(context));
  };
}

void addModels(ApiContext &context, std::vector<Route> &routes) {
  routes.push_back({"GET", "/v1/models", listModels(context)});
  routes.push_back(
      {"GET", "/v1/models/{model...}", [&context](HttpRequest request, auto responder) {
         responder->respond(showModel(context, std::string(request.parameter("model"))));
       }});
  routes.push_back({"DELETE", "/v1/models/{model...}", [](HttpRequest, auto responder) {
                      responder->respond(refusal({"", "models are not trained here, so none can "
                                                      "be deleted"}));
                    }});
}

void addRefusals(std::vector<Route> &routes) {
  const auto isServed = [&](const std::string &pattern) {
    return std::ranges::find(routes, pattern, &Route::pattern) != routes.end();
  };
  for (const Refusal &row : kRefusals) {
    const std::string path = row.path;
    std::vector<std::string> patterns = {path};
    if (!path.ends_with("...}"))
      patterns.push_back(path + "/{rest...}");
    for (const std::string &pattern : patterns) {
      // Beside what is served, the list of what was kept is asked for; no other method has a sense.
      std::vector<const char *> methods = {"GET"};
      if (!isServed(pattern))
        methods.insert(methods.end(), {"POST", "DELETE", "PATCH", "PUT"});
      for (const char *method : methods)
        routes.push_back({method, pattern, [&row](HttpRequest, auto responder) {
                            responder->respond(refusal(row));
                          }});
    }
  }
}

} // namespace sinter::serve::openai
