// The table of Anthropic's routes: messages, and how many tokens they have.
#include "serve/api/anthropic/anthropic.h"

#include "serve/api/anthropic/errors.h"
#include "serve/api/anthropic/message_format.h"
#include "serve/api/anthropic/message_input.h"
#include "serve/api/json_text.h"
#include "serve/api/request_tasks.h"
#include "serve/api/stored_extras.h"

namespace sinter::serve {
namespace {

using anthropic::MessageRequest;

// Thoughts that are asked for need no switch, and are none where the model has none.
ApiResult<Prompt> promptOf(const ModelFile &file, const MessageRequest &request) {
  ChatRequest chat = request.chat;
  if (request.mayThink && file.canChat({.think = true}))
    chat.inputs.think = true;
  return chatPrompt(file, chat);
}

ApiResult<std::shared_ptr<MessageRequest>> readFor(const ApiContext &context,
                                                   const std::string &model,
                                                   const RequestReader &body,
                                                   GenerationWishes &wishes) {
  auto read = std::make_shared<MessageRequest>(anthropic::readMessage(body, wishes));
  SINTER_TRY(check(body.problem()));
  SINTER_TRY(addStoredMessages(context, model, read->chat.messages));
  return read;
}

BodyHandler messages(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    GenerationRequest made;
    made.model = modelOf(context, body);
    SINTER_ASSIGN(const auto read, readFor(context, made.model, body, made.wishes));
    made.streams = read->streams;
    made.queue = request.account;
    made.keyName = request.keyName;
    made.prepare = [read](const ModelFile &file) -> ApiResult<std::vector<Prompt>> {
      std::vector<Prompt> prompts(1);
      SINTER_ASSIGN(prompts.front(), promptOf(file, *read));
      return prompts;
    };
    made.format = anthropic::makeMessageFormat(made.model);
    startGeneration(context, std::move(made), std::move(responder));
    return {};
  };
}

HttpResponse countOf(const ModelFile &file, const MessageRequest &request) {
  const ApiResult<Prompt> prompt = promptOf(file, request);
  if (!prompt)
    return anthropic::error(prompt.error());
  HttpResponse response;
  response.body = jsonText({{"input_tokens", prompt->tokens.size()}});
  return response;
}

BodyHandler countTokens(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    GenerationWishes wishes;
    const std::string model = modelOf(context, body);
    SINTER_ASSIGN(const auto read, readFor(context, model, body, wishes));
    context.models.get(
        model, withStoredContext(context, model), [&context, read, responder](auto worker) {
          if (!worker)
            return responder->respond(anthropic::error(worker.error()));
          const bool isTaken = context.tasks.post([read, responder, held = std::move(*worker)] {
            responder->respond(countOf(held->file(), *read));
          });
          if (!isTaken)
            responder->respond(anthropic::error({Code::Exhausted, "too many requests wait"}));
        });
    return {};
  };
}

} // namespace

std::vector<Route> anthropicRoutes(ApiContext &context) {
  std::vector<Route> routes;
  const auto post = [&](const char *path, BodyHandler handler) {
    routes.push_back({"POST", path, withBody(context, anthropic::error, std::move(handler)),
                      anthropic::errorBodyOf});
  };
  post("/v1/messages", messages(context));
  post("/v1/messages/count_tokens", countTokens(context));
  routes.push_back({"POST", "/v1/messages/batches",
                    [](HttpRequest, const std::shared_ptr<Responder> &responder) {
                      HttpResponse response = anthropic::error(
                          {Code::Unsupported, "batches are not served, /v1/messages is"});
                      response.status = 501;
                      responder->respond(std::move(response));
                    },
                    anthropic::errorBodyOf});
  return routes;
}

} // namespace sinter::serve
