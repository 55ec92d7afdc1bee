// Models that are made of others: the same file, with other texts beside it.
#include "host/go_templates.h"
#include "host/model_changes.h"
#include "host/quantize/stored_model.h"
#include "serve/api/chat_request.h"
#include "serve/api/ollama/changes.h"
#include "serve/api/ollama/pull_answer.h"
#include "serve/api/stored_extras.h"

#include <algorithm>

namespace sinter::serve::ollama {
namespace {

using store::Layer;
using store::Manifest;
using store::Role;

struct CreateRequest {
  std::string name, from;
  std::string chatTemplate;                                // empty: what is there
  std::vector<std::pair<std::string, Sha256Digest>> files; // names and blobs
  std::vector<std::pair<Role, std::string>> texts;         // in place of those of `from`
  host::QuantizeTypes types;                               // no scheme: those of the file
  bool streams = true;
};

void readFiles(const RequestReader &body, CreateRequest &made) {
  const jinja::Input *files = body.find("files");
  if (!files)
    return;
  if (!files->object())
    return body.wrong("files", "an object of file names and digests");
  for (const auto &[name, value] : *files->object()) {
    const auto digest = value.text() ? store::digestFromText(*value.text()) : std::nullopt;
    if (!digest || name.find('/') != std::string::npos)
      return body.wrong("files", "an object of file names and digests, as in {\"a.gguf\": "
                                 "\"sha256:...\"}");
    made.files.emplace_back(name, *digest);
  }
  std::ranges::sort(made.files);
}

// Settings are checked as those of a request are.
void readParameters(const RequestReader &body, CreateRequest &made) {
  const jinja::Input *found = body.find("parameters");
  const auto parameters = body.object("parameters");
  if (!found || !parameters)
    return;
  GenerationWishes checked;
  readSampler(*parameters, checked);
  readStops(*parameters, checked);
  parameters->whole("num_ctx", 0, INT32_MAX);
  parameters->whole("num_predict", -2, INT32_MAX);
  made.texts.emplace_back(Role::Params, jsonText(jsonOf(*found)));
}

void readTexts(const RequestReader &body, CreateRequest &made) {
  if (const auto system = body.text("system"); system && !system->empty())
    made.texts.emplace_back(Role::System, *system);
  for (std::string &license : body.texts("license", 64))
    if (!license.empty())
      made.texts.emplace_back(Role::License, std::move(license));
  readParameters(body, made);
  if (const jinja::Input *messages = body.find("messages"); messages && messages->list()) {
    ChatRequest checked;
    readMessages(body, checked);
    made.texts.emplace_back(Role::Messages, jsonText(jsonOf(*messages)));
  }
}

void readScheme(const RequestReader &body, CreateRequest &made) {
  const auto name = body.text("quantize");
  if (name && !name->empty() && !(made.types.scheme = host::findScheme(*name)))
    body.wrong("quantize", "one of " + host::schemeNames());
}

CreateRequest readCreate(const RequestReader &body) {
  CreateRequest made;
  made.name = body.find("name") && !body.find("model") ? body.requiredText("name")
                                                       : body.requiredText("model");
  made.from = body.text("from").value_or("");
  made.streams = body.boolean("stream").value_or(true);
  readFiles(body, made);
  readTexts(body, made);
  body.refuse("modelfile", "its lines are fields of the request: from, system, parameters, ...");
  made.chatTemplate = body.text("template").value_or("");
  body.refuse("adapters", "adapters (LoRA) are not applied");
  readScheme(body, made);
  body.refuse("renderer", "chats take the Jinja template of the model's file");
  body.refuse("parser", "answers are read as the model's template says");
  body.refuse("remote_host", "models run here");
  if (made.from.empty() == made.files.empty())
    body.wrong("from", "a model's name, or 'files' instead");
  return made;
}

Result<std::vector<Layer>> layersOfFiles(const store::Store &models, const CreateRequest &request) {
  std::vector<Layer> layers;
  for (const auto &[name, digest] : request.files) {
    const auto bytes = models.blobBytes(digest);
    if (!bytes)
      return fail(Code::NotFound, "blob '" + store::digestText(digest) +
                                      "' not found: POST it to /api/blobs first");
    layers.push_back({Role::Model, digest, *bytes, request.files.size() > 1 ? name : ""});
  }
  return layers;
}

// Clients read the message, and know the file by its name alone.
std::string withoutPath(std::string message, const std::string &path) {
  const std::string quoted = "'" + path + "': ";
  if (const size_t at = message.find(quoted); at != message.npos)
    message.erase(at, quoted.size());
  return message;
}

// The model's file must be one before it has a name.
Result<void> checkModel(const store::Store &models, const Manifest &manifest) {
  SINTER_ASSIGN(const std::string path, models.modelPath(manifest));
  auto file = GgufFile::openModel(path);
  if (!file) // the client's, whatever is wrong with it
    return fail(Code::InvalidArgument,
                "'files' hold no model: " + withoutPath(file.error().message, path));
  return {};
}

// A template is taken where chats then follow it.
Result<void> addTemplate(const store::Store &models, const CreateRequest &request,
                         Manifest &manifest) {
  if (request.chatTemplate.empty())
    return {};
  SINTER_ASSIGN(const std::string path, models.modelPath(manifest));
  SINTER_ASSIGN(const GgufFile file, GgufFile::openModel(path));
  const auto own = file.getString("tokenizer.chat_template");
  if (own && *own == request.chatTemplate)
    return {};
  host::ModelExtras extras;
  if (!request.from.empty()) {
    SINTER_ASSIGN(extras, host::modelExtras(request.from));
  }
  if (extras.goTemplate == request.chatTemplate)
    return {};
  if (own || !host::builtinForGoTemplate(request.chatTemplate))
    return fail(Code::Unsupported,
                "'template' is neither the model's own nor one of those of Go that are known here; "
                "`sinter serve --chat-template FILE` takes a Jinja template");
  std::erase_if(manifest.layers, [](const Layer &layer) { return layer.role == Role::Template; });
  SINTER_ASSIGN(Layer layer, models.addBytes(Role::Template, request.chatTemplate));
  manifest.layers.push_back(std::move(layer));
  return {};
}

Result<Manifest> manifestOf(const store::Store &models, const CreateRequest &request) {
  SINTER_ASSIGN(const store::ModelName name, store::ModelName::parse(request.name));
  Manifest manifest{name, "created here", {}};
  const std::atomic<bool> never = false;
  if (request.from.empty()) {
    SINTER_ASSIGN(manifest.layers, layersOfFiles(models, request));
    SINTER_TRY(checkModel(models, manifest));
  } else {
    // Never a path of the host.
    if (!host::storedName(request.from))
      return fail(Code::NotFound, "model '" + request.from + "' not found");
    SINTER_ASSIGN(manifest, host::manifestFrom(models, request.from, name, never));
  }
  for (const auto &[role, text] : request.texts)
    std::erase_if(manifest.layers, [&](const Layer &layer) { return layer.role == role; });
  for (const auto &[role, text] : request.texts) {
    SINTER_ASSIGN(Layer layer, models.addBytes(role, text));
    manifest.layers.push_back(std::move(layer));
  }
  SINTER_TRY(addTemplate(models, request, manifest));
  return manifest;
}

Result<void> make(const CreateRequest &request) {
  SINTER_ASSIGN(const store::Store models, host::modelStore());
  SINTER_ASSIGN(const Manifest manifest, manifestOf(models, request));
  return models.put(manifest);
}

// What may take minutes: other requests go on meanwhile, and who waits hears how far it is.
Result<void> startQuantizing(ApiContext &context, const CreateRequest &request,
                             const std::shared_ptr<Responder> &responder) {
  SINTER_ASSIGN(const store::Store models, host::modelStore());
  SINTER_ASSIGN(const Manifest manifest, manifestOf(models, request));
  SINTER_TRY(host::checkUnquantized(models, manifest));
  const auto work = [models, manifest,
                     types = request.types](const std::string &, store::PullObserver &observer,
                                            const std::atomic<bool> &cancel) -> Result<void> {
    Manifest made = manifest;
    SINTER_TRY(host::quantizeModel(models, types, made, observer, cancel));
    observer.onStep("writing manifest");
    return models.put(made);
  };
  auto listener = std::make_shared<PullAnswer>(context, request.name, responder, request.streams);
  if (auto started = context.pulls->startMaking(request.name, work, listener); !started)
    listener->onEnd(started);
  leaveWhenGone(context, *responder, listener);
  return {};
}

} // namespace

BodyHandler create(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    const CreateRequest request = readCreate(body);
    SINTER_TRY(check(body.problem()));
    if (request.types.scheme) {
      if (auto started = startQuantizing(context, request, responder); !started)
        return tl::unexpected(ApiError(started.error()));
      return {};
    }
    if (auto made = make(request); !made)
      return tl::unexpected(ApiError(made.error()));
    forgetModel(context, request.name);
    HttpResponse response;
    if (request.streams) {
      response.contentType = "application/x-ndjson";
      for (const char *status : {"writing manifest", "success"})
        response.body += jsonLine({{"status", status}});
    } else {
      response.body = jsonText({{"status", "success"}});
    }
    responder->respond(std::move(response));
    return {};
  };
}

} // namespace sinter::serve::ollama
