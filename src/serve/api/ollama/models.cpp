// Facts come from the heads of the files, which are mapped, not loaded.
#include "serve/api/ollama/models.h"

#include "base/nearest.h"
#include "serve/api/model_facts.h"
#include "serve/api/stored_extras.h"

#include <algorithm>

namespace sinter::serve::ollama {
namespace {

Result<GgufFile> openFile(const ApiContext &context, const std::string &name) {
  const auto known = knownName(context, name);
  if (!known)
    return fail(Code::NotFound,
                "there is no model '" + name + "'" + nearestHint(name, context.models.names()));
  SINTER_ASSIGN(const std::string path, context.pathOf(*known));
  return GgufFile::openModel(path);
}

Json nameAnd(const std::string &name, const GgufFile &file) {
  return {{"name", name},
          {"model", name},
          {"size", file.totalBytes()},
          {"digest", modelDigest(file)},
          {"details", modelDetails(file)}};
}

HttpResponse bodyOf(const Json &json) {
  HttpResponse response;
  response.body = jsonText(json);
  return response;
}

// Models whose files cannot be read are left out: they cannot be asked either.
HttpResponse tags(const ApiContext &context) {
  Json models = Json::array();
  for (const std::string &name : context.models.names()) {
    const auto file = openFile(context, name);
    if (!file)
      continue;
    Json model = nameAnd(name, *file);
    const std::vector<std::string> paths = file->paths();
    model["modified_at"] = modifiedText(paths.empty() ? "" : paths.front());
    models.push_back(std::move(model));
  }
  return bodyOf({{"models", std::move(models)}});
}

HttpResponse running(const ApiContext &context) {
  constexpr std::chrono::hours kNever{24 * 365 * 100};
  Json models = Json::array();
  for (const LoadedModel &loaded : context.models.loaded()) {
    const auto file = openFile(context, loaded.name);
    Json model =
        file ? nameAnd(loaded.name, *file) : Json{{"name", loaded.name}, {"model", loaded.name}};
    model["size"] = loaded.bytes;
    model["size_vram"] = loaded.bytes;
    model["context_length"] = loaded.context;
    model["expires_at"] =
        timeText(loaded.expires.value_or(std::chrono::system_clock::now() + kNever));
    models.push_back(std::move(model));
  }
  return bodyOf({{"models", std::move(models)}});
}

// The lines from which Ollama's clients make a model anew.
std::string modelfileOf(const std::string &name, const host::ModelExtras &extras) {
  std::string text = "FROM " + name + "\n";
  if (!extras.system.empty())
    text += "SYSTEM \"\"\"" + extras.system + "\"\"\"\n";
  const std::string parameters = parameterLines(extras.params);
  for (std::string_view lines = parameters; !lines.empty();) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    text += "PARAMETER " + std::string(lines.substr(0, end)) + "\n";
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  const auto messages = jinja::inputFromJson(extras.messages.empty() ? "[]" : extras.messages);
  if (messages && messages->list())
    for (const jinja::Input &message : *messages->list()) {
      const jinja::Input *role = message.find("role"), *content = message.find("content");
      if (role && role->text() && content && content->text())
        text += "MESSAGE " + *role->text() + " \"\"\"" + *content->text() + "\"\"\"\n";
    }
  if (!extras.license.empty())
    text += "LICENSE \"\"\"" + extras.license + "\"\"\"\n";
  return text;
}

ApiResult<void> show(const ApiContext &context, const RequestReader &body, Responder &responder) {
  // An old name of the field.
  const std::string name =
      body.find("name") && !body.find("model") ? body.requiredText("name") : modelOf(context, body);
  const bool isVerbose = body.boolean("verbose").value_or(false);
  SINTER_TRY(check(body.problem()));
  SINTER_ASSIGN(const GgufFile file, openFile(context, name));
  const auto source = file.getString("tokenizer.chat_template");
  const std::vector<std::string> paths = file.paths();
  const std::string path = paths.empty() ? "" : paths.front();
  const auto extras = context.extrasOf(knownName(context, name).value_or(name));
  if (!extras)
    return tl::unexpected(ApiError(extras.error()));
  const std::string parameters = parameterLines(extras->params);
  Json answer = {{"modelfile", modelfileOf(name, *extras)}, {"parameters", parameters}};
  // What chats take.
  answer["template"] = !context.chatTemplate.empty() ? context.chatTemplate
                       : source                      ? std::string(*source)
                                                     : extras->goTemplate;
  if (!extras->system.empty())
    answer["system"] = extras->system;
  answer["details"] = modelDetails(file);
  answer["model_info"] = modelInfo(file, isVerbose);
  answer["capabilities"] = modelCapabilities(file, context.chatTemplate);
  answer["modified_at"] = modifiedText(path);
  const auto license = file.getString("general.license");
  if (!extras->license.empty() || license)
    answer["license"] = extras->license.empty() ? std::string(*license) : extras->license;
  responder.respond(bodyOf(answer));
  return {};
}

// On a task's thread, since files are opened.
HttpHandler onTask(ApiContext &context, HttpResponse (*answer)(const ApiContext &)) {
  return [&context, answer](HttpRequest, std::shared_ptr<Responder> responder) {
    if (!context.tasks.post([&context, answer, responder] { responder->respond(answer(context)); }))
      responder->respond(ollamaError({Code::Exhausted, "too many requests wait, try again"}));
  };
}

struct Refusal {
  const char *method, *path, *what;
};
constexpr Refusal kRefusals[] = {
    {"POST", "/api/push", "models are not sent to registries from here"},
    {"POST", "/v1/systemone", "systemone is not served"},
};

} // namespace

void addModels(ApiContext &context, std::vector<Route> &routes) {
  routes.push_back({"GET", "/api/tags", onTask(context, tags), plainErrorBody});
  routes.push_back({"GET", "/api/ps", onTask(context, running), plainErrorBody});
  routes.push_back({"GET", "/api/version",
                    [&context](HttpRequest, auto responder) {
                      responder->respond(bodyOf({{"version", context.version}}));
                    },
                    plainErrorBody});
  routes.push_back({"POST", "/api/show",
                    withBody(context, ollamaError,
                             [&context](const HttpRequest &, const RequestReader &body,
                                        std::shared_ptr<Responder> responder) {
                               return show(context, body, *responder);
                             }),
                    plainErrorBody});
}

void addRefusals(std::vector<Route> &routes) {
  for (const Refusal &row : kRefusals)
    routes.push_back({row.method, row.path,
                      [&row](HttpRequest, auto responder) {
                        HttpResponse response = ollamaError({Code::Unsupported, row.what});
                        response.status = 501;
                        responder->respond(std::move(response));
                      },
                      plainErrorBody});
}

} // namespace sinter::serve::ollama
