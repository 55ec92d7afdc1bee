// Each request is done on a task's thread, or listens to a pull.
#include "serve/api/ollama/changes.h"

#include "host/model_changes.h"
#include "serve/api/ollama/pull_answer.h"

#include "base/sha256_stream.h"

namespace sinter::serve::ollama {
namespace {

constexpr size_t kMostBlobBytes = size_t{1} << 30; // of one upload, which is held in memory

std::string nameIn(const RequestReader &body) {
  return body.find("name") && !body.find("model") ? body.requiredText("name")
                                                  : body.requiredText("model");
}

HttpResponse emptyAnswer(uint16_t status) {
  HttpResponse response;
  response.status = status;
  return response;
}

BodyHandler pull(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    const std::string name = nameIn(body);
    const bool streams = body.boolean("stream").value_or(true);
    body.refuse("insecure", "registries are asked as SINTER_REGISTRY says");
    SINTER_TRY(check(body.problem()));
    if (auto valid = store::ModelName::parse(name); !valid)
      return tl::unexpected(ApiError(valid.error()));
    auto listener = std::make_shared<PullAnswer>(context, name, responder, streams);
    if (auto started = context.pulls->start(name, listener); !started)
      listener->onEnd(started);
    leaveWhenGone(context, *responder, listener);
    return {};
  };
}

BodyHandler copy(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    const std::string from = body.requiredText("source"), to = body.requiredText("destination");
    SINTER_TRY(check(body.problem()));
    // Never a path of the host.
    if (!host::storedName(from))
      return tl::unexpected(ApiError(Code::NotFound, "model '" + from + "' not found", "source"));
    const std::atomic<bool> never = false;
    if (auto done = host::copyModel(from, to, never); !done)
      return tl::unexpected(ApiError(done.error()));
    forgetModel(context, to);
    responder->respond(emptyAnswer(200));
    return {};
  };
}

BodyHandler remove(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    const std::string name = nameIn(body);
    SINTER_TRY(check(body.problem()));
    const auto stored = host::storedName(name);
    if (!stored)
      return tl::unexpected(ApiError(Code::NotFound, "model '" + name + "' not found", "model"));
    if (auto removed = host::removeModel(*stored); !removed)
      return tl::unexpected(ApiError(removed.error()));
    context.models.forget(*stored);
    responder->respond(emptyAnswer(200));
    return {};
  };
}

ApiResult<Sha256Digest> digestOf(const HttpRequest &request) {
  const std::string_view text = request.parameter("digest");
  if (const auto digest = store::digestFromText(text))
    return *digest;
  return tl::unexpected(ApiError(Code::InvalidArgument,
                                 "'" + std::string(text.substr(0, 100)) +
                                     "' is no digest, expected sha256: and 64 hexadecimal digits"));
}

ApiResult<HttpResponse> findBlob(const HttpRequest &request) {
  SINTER_ASSIGN(const Sha256Digest digest, digestOf(request));
  const auto models = host::modelStore();
  if (models && models->blobBytes(digest))
    return emptyAnswer(200);
  return tl::unexpected(
      ApiError(Code::NotFound, "blob '" + store::digestText(digest) + "' not found"));
}

ApiResult<HttpResponse> keepBlob(const HttpRequest &request) {
  SINTER_ASSIGN(const Sha256Digest digest, digestOf(request));
  const std::span bytes(reinterpret_cast<const uint8_t *>(request.body.data()),
                        request.body.size());
  const auto found = sha256({bytes});
  const auto models = host::modelStore();
  if (!found || !models)
    return tl::unexpected(ApiError(found ? models.error() : found.error()));
  if (*found != digest)
    return tl::unexpected(
        ApiError(Code::InvalidArgument, "digest mismatch, expected '" + store::digestText(digest) +
                                            "', got '" + store::digestText(*found) + "'"));
  if (models->blobBytes(digest) == request.body.size())
    return emptyAnswer(200);
  if (auto kept = models->addBytes(store::Role::Model, request.body); !kept)
    return tl::unexpected(ApiError(kept.error()));
  return emptyAnswer(201);
}

// On a task's thread, since files are read and written.
HttpHandler onTask(ApiContext &context, ApiResult<HttpResponse> (*answer)(const HttpRequest &)) {
  return [&context, answer](HttpRequest request, std::shared_ptr<Responder> responder) {
    auto shared = std::make_shared<HttpRequest>(std::move(request));
    const bool isTaken = context.tasks.post([shared, answer, responder] {
      auto answered = answer(*shared);
      responder->respond(answered ? std::move(*answered) : ollamaError(answered.error()));
    });
    if (!isTaken)
      responder->respond(ollamaError({Code::Exhausted, "too many requests wait, try again"}));
  };
}

// Refuses where models are not to be changed.
HttpHandler guarded(ApiContext &context, HttpHandler handler) {
  return [&context, handler = std::move(handler)](HttpRequest request,
                                                  std::shared_ptr<Responder> responder) {
    std::string why = context.whyModelsAreFixed ? context.whyModelsAreFixed() : "";
    if (!context.pulls)
      why = "this server has no store of models that requests may change";
    if (why.empty())
      return handler(std::move(request), std::move(responder));
    HttpResponse response = ollamaError({Code::Permission, "models cannot be changed: " + why});
    response.status = 403;
    responder->respond(std::move(response));
  };
}

} // namespace

void forgetModel(ApiContext &context, const std::string &name) {
  if (const auto parsed = store::ModelName::parse(name))
    context.models.forget(parsed->text());
}

void addChanges(ApiContext &context, std::vector<Route> &routes) {
  const auto add = [&](const char *method, const char *path, HttpHandler handler,
                       std::optional<size_t> mostBytes = std::nullopt) {
    routes.push_back(
        {method, path, guarded(context, std::move(handler)), plainErrorBody, false, mostBytes});
  };
  const auto addBody = [&](const char *method, const char *path, BodyHandler handler) {
    add(method, path, withBody(context, ollamaError, std::move(handler)));
  };
  addBody("POST", "/api/pull", pull(context));
  addBody("POST", "/api/create", create(context));
  addBody("POST", "/api/copy", copy(context));
  addBody("DELETE", "/api/delete", remove(context));
  add("GET", "/api/blobs/{digest}", onTask(context, findBlob)); // HEAD too
  add("POST", "/api/blobs/{digest}", onTask(context, keepBlob), kMostBlobBytes);
}

} // namespace sinter::serve::ollama
