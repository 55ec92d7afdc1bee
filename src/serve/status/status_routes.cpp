// Health, version, metrics, models at work.
#include "serve/status/status_routes.h"

#include "serve/api/api_error.h"
#include "serve/api/json_text.h"

#include <filesystem>

namespace sinter::serve {
namespace {

HttpHandler always(const Json &json) {
  return [body = jsonText(json)](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
    responder->respond({200, "application/json", body});
  };
}

Json slotsOf(const ModelPool &models) {
  Json slots = Json::array();
  for (const LoadedModel &model : models.loaded())
    for (uint64_t i = 0; i < model.state.running; ++i)
      slots.push_back({{"id", slots.size()},
                       {"model", model.name},
                       {"n_ctx", model.context},
                       {"speculative", false},
                       {"is_processing", true}});
  return slots;
}

ApiResult<Json> propsOf(const ApiContext &context, const std::string &name) {
  SINTER_ASSIGN(const std::string path, context.pathOf(name));
  // Metadata alone: no tokenizer is made.
  SINTER_ASSIGN(const GgufFile file, GgufFile::openModel(path));
  std::error_code failed;
  uint64_t running = 0;
  Json contextTokens = nullptr;
  for (const LoadedModel &model : context.models.loaded())
    if (std::filesystem::equivalent(model.path, path, failed)) {
      contextTokens = model.context;
      running += model.state.running;
    }
  return Json{
      {"model_alias", name},
      {"model_path", std::filesystem::path(path).filename().string()}, // no folder of the host
      {"default_generation_settings", {{"n_ctx", contextTokens}}},
      {"total_slots", running},
      {"chat_template", file.getString("tokenizer.chat_template").value_or("")},
      {"modalities", {{"vision", false}, {"audio", false}}},
      {"build_info", "sinter " + context.version},
      {"is_sleeping", contextTokens.is_null()}};
}

std::string queryValue(const HttpRequest &request, std::string_view name) {
  for (const auto &[key, value] : request.query)
    if (key == name)
      return value;
  return "";
}

void answerProps(const ApiContext &context, const std::string &asked, Responder &responder) {
  const std::string name = asked.empty() ? context.defaultModel : asked;
  if (name.empty())
    return responder.respond(
        openaiError({Code::InvalidArgument, "no model is named, expected ?model=NAME", "model"}));
  const ApiResult<Json> props = propsOf(context, name);
  if (!props)
    return responder.respond(openaiError(props.error()));
  responder.respond({200, "application/json", jsonText(*props)});
}

} // namespace

void addStatusRoutes(Routes &routes, const std::string &version, const Metrics &metrics) {
  Route health{"GET", "/health", always({{"status", "ok"}})};
  health.isOpen = true;
  routes.add(std::move(health));
  routes.add({"GET", "/version", always({{"version", version}})});
  routes.add({"GET", "/metrics",
              [&metrics](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
                responder->respond(
                    {200, "text/plain; version=0.0.4; charset=utf-8", metrics.text()});
              }});
}

void addModelStatusRoutes(Routes &routes, ApiContext &context) {
  routes.add({"GET", "/slots",
              [&context](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
                responder->respond({200, "application/json", jsonText(slotsOf(context.models))});
              }});
  routes.add({"GET", "/props",
              [&context](const HttpRequest &request, const std::shared_ptr<Responder> &responder) {
                const bool isTaken =
                    context.tasks.post([&context, asked = queryValue(request, "model"), responder] {
                      answerProps(context, asked, *responder);
                    });
                if (!isTaken)
                  responder->respond(
                      openaiError({Code::Exhausted, "too many requests wait, try again"}));
              }});
}

} // namespace sinter::serve
