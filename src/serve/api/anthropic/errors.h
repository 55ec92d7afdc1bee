// Errors as Anthropic's clients read them.
#pragma once

#include "serve/api/api_error.h"

#include <string_view>

namespace sinter::serve::anthropic {

// {"type": "error", "error": {"type", "message"}}
HttpResponse error(const ApiError &error);
std::string errorBody(const ApiError &error);
// Of errors before a route is reached.
std::string errorBodyOf(uint16_t status, std::string_view message);

} // namespace sinter::serve::anthropic
