// The type follows the status.
#include "serve/api/anthropic/errors.h"

#include "serve/api/json_text.h"

namespace sinter::serve::anthropic {
namespace {

const char *typeOf(uint16_t status) {
  switch (status) {
  case 401:
    return "authentication_error";
  case 403:
    return "permission_error";
  case 404:
    return "not_found_error";
  case 413:
    return "request_too_large";
  case 429:
    return "rate_limit_error";
  case 503:
    return "overloaded_error";
  case 504:
    return "timeout_error";
  default:
    return status < 500 ? "invalid_request_error" : "api_error";
  }
}

} // namespace

std::string errorBodyOf(uint16_t status, std::string_view message) {
  return jsonText({{"type", "error"},
                   {"error", {{"type", typeOf(status)}, {"message", std::string(message)}}}});
}

std::string errorBody(const ApiError &error) {
  return errorBodyOf(httpStatus(error.code), error.message);
}

HttpResponse error(const ApiError &error) {
  HttpResponse response = openaiError(error); // the status and its headers
  response.body = errorBody(error);
  return response;
}

} // namespace sinter::serve::anthropic
