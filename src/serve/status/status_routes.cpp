// Health, version, metrics, models at work.
#include "serve/status/status_routes.h"

#include "llm/sampler/defaults.h"
#include "serve/api/api_error.h"
#include "serve/api/generation_wishes.h"
#include "serve/api/json_text.h"
#include "serve/api/model_facts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <optional>

namespace sinter::serve {
namespace {

HttpHandler always(const Json &json) {
  return [body = jsonText(json)](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
    responder->respond({200, "application/json", body});
  };
}

// A place for each whole context that a model has memory for, and one for each sequence beyond.
Json slotsOf(const ApiContext &context) {
  Json slots = Json::array();
  for (const LoadedModel &model : context.models.loaded()) {
    const uint64_t places = model.embeddings ? 1 : context.parallel;
    for (uint64_t i = 0; i < std::max(places, model.state.running); ++i)
      slots.push_back({{"id", slots.size()},
                       {"model", model.name},
                       {"n_ctx", model.context},
                       {"speculative", false},
                       {"is_processing", i < model.state.running}});
  }
  return slots;
}

// Settings that a request may leave out, as the server has them for this file.
Json defaultParams(const ApiContext &context, const GgufFile &file) {
  SamplerSettings settings = samplerDefaultsOf(file).settings;
  if (context.defaults)
    for (const auto &[setting, value] : context.defaults->settings)
      setting->set(settings, value);
  Json made = settingsJson(settings);
  const bool hasSeed = context.defaults && context.defaults->seed;
  made["seed"] = hasSeed ? Json(*context.defaults->seed) : Json(-1);
  const uint64_t most = context.defaults ? context.defaults->maxTokens : UINT64_MAX;
  made["n_predict"] = most == UINT64_MAX ? Json(-1) : Json(most);
  return made;
}

// Empty where the file names none.
std::string tokenText(const GgufFile &file, const char *key) {
  const auto id = file.getU64(key);
  const auto texts = file.getStrings("tokenizer.ggml.tokens");
  return id && texts && *id < texts->size() ? std::string((*texts)[*id]) : "";
}

ApiResult<Json> propsOf(const ApiContext &context, const std::string &name) {
  SINTER_ASSIGN(const std::string path, context.pathOf(name));
  // Metadata alone: no tokenizer is made.
  SINTER_ASSIGN(const GgufFile file, GgufFile::openModel(path));
  std::error_code failed;
  Json contextTokens = nullptr;
  for (const LoadedModel &model : context.models.loaded())
    if (std::filesystem::equivalent(model.path, path, failed))
      contextTokens = model.context;
  return Json{
      {"model_alias", name},
      {"model_path", std::filesystem::path(path).filename().string()}, // no folder of the host
      {"default_generation_settings",
       {{"n_ctx", contextTokens}, {"params", defaultParams(context, file)}}},
      {"total_slots", context.parallel},
      {"chat_template", context.chatTemplate.empty()
                            ? std::string(file.getString("tokenizer.chat_template").value_or(""))
                            : context.chatTemplate},
      {"chat_template_caps", templateCapabilities(file, context.chatTemplate)},
      {"bos_token", tokenText(file, "tokenizer.ggml.bos_token_id")},
      {"eos_token", tokenText(file, "tokenizer.ggml.eos_token_id")},
      {"modalities", {{"vision", false}, {"audio", false}}},
      {"endpoint_slots", true},
      {"endpoint_props", false}, // POST, which would change them
      {"endpoint_metrics", true},
      {"build_info", "sinter " + context.version},
      {"is_sleeping", contextTokens.is_null()}};
}

// The bytes of weights that a step reads, however many sequences it has; null where the file cannot
// say. An embedding that is not the output matrix too gives a row for each token.
Json stepBytes(const LoadedModel &model) {
  const auto file = GgufFile::openModel(model.path);
  if (!file)
    return nullptr;
  const auto architecture = file->getString("general.architecture");
  const auto experts = file->getU64(std::string(architecture.value_or("")) + ".expert_count");
  if (experts && *experts > 0)
    return nullptr;
  uint64_t bytes = 0;
  const bool hasOutput = file->findTensor("output.weight") != nullptr;
  for (const GgufTensor &tensor : file->tensors())
    if (!hasOutput || tensor.name != "token_embd.weight")
      bytes += tensor.bytes.size();
  return bytes;
}

// The rate is measured once, while nothing runs: both would be slower together.
class Roofline {
public:
  explicit Roofline(const ApiContext &context) : context_(context) {}

  Json json() {
    const std::vector<LoadedModel> loaded = context_.models.loaded();
    bool isBusy = false;
    Json models = Json::array();
    for (const LoadedModel &model : loaded) {
      isBusy |= model.state.running + model.state.waiting > 0;
      if (!model.embeddings)
        models.push_back({{"model", model.name}, {"weight_bytes", stepBytes(model)}});
    }
    return {{"bytes_per_second", rate(isBusy)}, {"models", std::move(models)}};
  }

private:
  Json rate(bool isBusy) {
    const std::lock_guard lock(mutex_);
    if (!rate_ && !isBusy && context_.measureBandwidth)
      rate_ = context_.measureBandwidth();
    return rate_ && *rate_ ? Json(std::round(**rate_)) : Json();
  }

  const ApiContext &context_;
  std::mutex mutex_;
  std::optional<Result<double>> rate_; // an error stays one
};

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
  for (const char *path : {"/health", "/v1/health"}) {
    Route health{"GET", path, always({{"status", "ok"}})};
    health.isOpen = true;
    routes.add(std::move(health));
  }
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
                responder->respond({200, "application/json", jsonText(slotsOf(context))});
              }});
  auto roofline = std::make_shared<Roofline>(context);
  routes.add(
      {"GET", "/roofline",
       [&context, roofline](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
         const bool isTaken = context.tasks.post([roofline, responder] {
           responder->respond({200, "application/json", jsonText(roofline->json())});
         });
         if (!isTaken)
           responder->respond(openaiError({Code::Exhausted, "too many requests wait, try again"}));
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
