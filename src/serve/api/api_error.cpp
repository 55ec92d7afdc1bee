// Errors as OpenAI's and Ollama's clients read them.
#include "serve/api/api_error.h"

#include "serve/api/json_text.h"

namespace sinter::serve {
namespace {

struct Kind {
  uint16_t status;
  const char *type; // of OpenAI's
  const char *code; // of OpenAI's; null: none
};

Kind kindOf(Code code) {
  switch (code) {
  case Code::InvalidArgument:
    return {400, "invalid_request_error", nullptr};
  case Code::Unsupported:
    return {400, "invalid_request_error", "unsupported"};
  case Code::NotFound:
    return {404, "invalid_request_error", "model_not_found"};
  case Code::Exhausted:
  case Code::Cancelled:
    return {503, "server_error", "overloaded"};
  case Code::Timeout:
    return {504, "server_error", "timeout"};
  default:
    return {500, "server_error", nullptr};
  }
}

HttpResponse answer(const ApiError &error, std::string body) {
  HttpResponse response{.status = httpStatus(error.code), .body = std::move(body)};
  if (response.status == 503)
    response.headers.emplace_back("retry-after", std::to_string(error.retrySeconds));
  return response;
}

} // namespace

uint16_t httpStatus(Code code) {
  return kindOf(code).status;
}

std::string openaiErrorBody(const ApiError &error) {
  const Kind kind = kindOf(error.code);
  Json body = {{"message", error.message}, {"type", kind.type}};
  body["param"] = error.param.empty() ? Json() : Json(error.param);
  body["code"] = kind.code ? Json(kind.code) : Json();
  if (error.excess) {
    body["code"] = "context_length_exceeded";
    body["n_prompt_tokens"] = error.excess->promptTokens;
    body["n_ctx"] = error.excess->contextTokens;
  }
  return jsonText(Json{{"error", std::move(body)}});
}

std::string ollamaErrorBody(const ApiError &error) {
  return jsonText(Json{{"error", error.message}});
}

HttpResponse openaiError(const ApiError &error) {
  return answer(error, openaiErrorBody(error));
}
HttpResponse ollamaError(const ApiError &error) {
  return answer(error, ollamaErrorBody(error));
}

} // namespace sinter::serve
