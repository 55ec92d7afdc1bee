// What is wrong with a request, and its spelling in each family of APIs.
#pragma once

#include "base/status.h"
#include "serve/http/exchange.h"

#include <optional>
#include <string>

namespace sinter::serve {

// A prompt that is longer than the context.
struct ContextExcess {
  uint64_t promptTokens = 0, contextTokens = 0;
};

struct ApiError {
  ApiError(Code code, std::string message, std::string param = "")
      : code(code), message(std::move(message)), param(std::move(param)) {}
  ApiError(const Status &status) : ApiError(status.code, status.toString()) {}

  Code code;
  std::string message;
  std::string param; // the path of the field that is meant, "messages[2].role"; empty: none
  std::optional<ContextExcess> excess = {}; // where this is what is wrong
  uint32_t retrySeconds = 1;                // where trying again helps
};

template <typename T> using ApiResult = tl::expected<T, ApiError>;

// The status of an answer: 400 for requests that make no sense or ask for what there is not, 404,
// 503 where trying again helps, 504, else 500.
uint16_t httpStatus(Code code);

// {"error": {"message", "type", "param", "code"}}; with Retry-After at 503.
HttpResponse openaiError(const ApiError &error);
// {"error": "..."}
HttpResponse ollamaError(const ApiError &error);

// Writes the body of an error that comes after the head of a streamed answer.
std::string openaiErrorBody(const ApiError &error);
std::string ollamaErrorBody(const ApiError &error);

} // namespace sinter::serve
