// Tokens of texts, texts of tokens, and prompts of conversations.
#include "serve/api/native/text_routes.h"

#include "llm/tokenizer/detokenizer.h"
#include "llm/tokenizer/unicode.h"
#include "serve/api/chat_request.h"
#include "serve/api/json_text.h"
#include "serve/api/openai/response_input.h"
#include "serve/api/prompt_texts.h"
#include "serve/api/request_tasks.h"
#include "serve/api/stored_extras.h"

namespace sinter::serve {
namespace {

using Make = std::function<ApiResult<Json>(const ModelFile &)>;

void respondWith(const ApiResult<Json> &made, Responder &responder) {
  if (!made)
    return responder.respond(openaiError(made.error()));
  HttpResponse response;
  response.body = jsonText(*made);
  responder.respond(std::move(response));
}

// Answers with what `make` makes of the model's file, on a thread of the tasks.
void answerFromFile(ApiContext &context, const std::string &model, Make make,
                    std::shared_ptr<Responder> responder) {
  context.models.get(
      model, withStoredContext(context, model),
      [&context, make = std::move(make), responder](Result<std::shared_ptr<ModelWorker>> worker) {
        if (!worker)
          return responder->respond(openaiError(worker.error()));
        const bool isTaken = context.tasks.post([make, responder, held = std::move(*worker)] {
          respondWith(make(held->file()), *responder);
        });
        if (!isTaken)
          responder->respond(
              openaiError({Code::Exhausted, "too many requests wait to be read, try again"}));
      });
}

// A text; where a token is a part of a character, its bytes.
Json pieceJson(std::string_view piece) {
  if (validUtf8Prefix(piece) == piece.size())
    return std::string(piece);
  Json bytes = Json::array();
  for (const char byte : piece)
    bytes.push_back(static_cast<unsigned char>(byte));
  return bytes;
}

ApiResult<void> tokenize(ApiContext &context, const RequestReader &body,
                         std::shared_ptr<Responder> responder) {
  const std::string model = modelOf(context, body);
  const std::optional<std::string> text = body.text("content");
  if (!text)
    body.wrong("content", "a text");
  const EncodeOptions options = {body.boolean("add_special").value_or(false),
                                 body.boolean("parse_special").value_or(true)};
  const bool withPieces = body.boolean("with_pieces").value_or(false);
  SINTER_TRY(check(body.problem()));
  answerFromFile(
      context, model,
      [text = *text, options, withPieces](const ModelFile &file) -> ApiResult<Json> {
        SINTER_ASSIGN(const Encoding encoding, file.tokenizer().encode(text, options));
        Json tokens = Json::array();
        for (const TokenId id : encoding.ids)
          tokens.push_back(withPieces
                               ? Json{{"id", id}, {"piece", pieceJson(file.tokenizer().piece(id))}}
                               : Json(id));
        return Json{{"tokens", std::move(tokens)}};
      },
      std::move(responder));
  return {};
}

std::vector<TokenId> readTokens(const RequestReader &body) {
  std::vector<TokenId> ids;
  const jinja::Input::List *list = body.list("tokens", INT32_MAX);
  if (!list)
    body.wrong("tokens", "a list of tokens");
  for (size_t i = 0; list && i < list->size(); ++i) {
    const auto *id = std::get_if<int64_t>(&(*list)[i].content());
    if (!id || *id < 0 || *id > INT32_MAX) {
      body.problem().note(Code::InvalidArgument,
                          "'tokens[" + std::to_string(i) + "]' is " + foundText((*list)[i]) +
                              ", expected a token",
                          "tokens");
      break;
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

ApiResult<void> detokenizeTokens(ApiContext &context, const RequestReader &body,
                                 std::shared_ptr<Responder> responder) {
  const std::string model = modelOf(context, body);
  std::vector<TokenId> ids = readTokens(body);
  SINTER_TRY(check(body.problem()));
  answerFromFile(
      context, model,
      [ids = std::move(ids)](const ModelFile &file) -> ApiResult<Json> {
        SINTER_ASSIGN(std::string text, detokenize(file.tokenizer(), ids, true));
        return Json{{"content", std::move(text)}};
      },
      std::move(responder));
  return {};
}

ApiResult<void> applyTemplate(ApiContext &context, const RequestReader &body,
                              std::shared_ptr<Responder> responder) {
  const std::string model = modelOf(context, body);
  auto chat = std::make_shared<ChatRequest>();
  readMessages(body, *chat);
  readTools(body, *chat);
  readTemplateInputs(body, *chat);
  SINTER_TRY(check(body.problem()));
  SINTER_TRY(addStoredMessages(context, model, chat->messages));
  answerFromFile(
      context, model,
      [chat](const ModelFile &file) -> ApiResult<Json> {
        SINTER_ASSIGN(const auto parts, chatParts(file, *chat));
        return Json{{"prompt", promptText(parts)}};
      },
      std::move(responder));
  return {};
}

// How many tokens a conversation's prompt has.
ApiResult<void> countTokens(ApiContext &context, const RequestReader &body, ChatRequest chat,
                            std::shared_ptr<Responder> responder) {
  const std::string model = modelOf(context, body);
  SINTER_TRY(check(body.problem()));
  SINTER_TRY(addStoredMessages(context, model, chat.messages));
  answerFromFile(
      context, model,
      [chat = std::move(chat)](const ModelFile &file) -> ApiResult<Json> {
        SINTER_ASSIGN(const Prompt prompt, chatPrompt(file, chat));
        return Json{{"object", "response.input_tokens"}, {"input_tokens", prompt.tokens.size()}};
      },
      std::move(responder));
  return {};
}

ApiResult<void> countOfChat(ApiContext &context, const RequestReader &body,
                            std::shared_ptr<Responder> responder) {
  ChatRequest chat;
  readMessages(body, chat);
  readTools(body, chat);
  readTemplateInputs(body, chat);
  return countTokens(context, body, std::move(chat), std::move(responder));
}

ApiResult<void> countOfResponse(ApiContext &context, const RequestReader &body,
                                std::shared_ptr<Responder> responder) {
  GenerationWishes wishes;
  return countTokens(context, body, openai::readResponse(body, wishes).chat, std::move(responder));
}

} // namespace

void addTextRoutes(Routes &routes, ApiContext &context) {
  const auto add = [&](const char *path, auto handle) {
    routes.add({"POST", path,
                withBody(context, openaiError,
                         [&context, handle](const HttpRequest &, const RequestReader &body,
                                            std::shared_ptr<Responder> responder) {
                           return handle(context, body, std::move(responder));
                         })});
  };
  add("/tokenize", tokenize);
  add("/detokenize", detokenizeTokens);
  add("/apply-template", applyTemplate);
  for (const char *path : {"/chat/completions/input_tokens", "/v1/chat/completions/input_tokens"})
    add(path, countOfChat);
  for (const char *path : {"/responses/input_tokens", "/v1/responses/input_tokens"})
    add(path, countOfResponse);
}

} // namespace sinter::serve
