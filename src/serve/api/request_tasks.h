// Bodies are read on the threads of tasks, not on those of sockets.
#pragma once

#include "serve/api/api_context.h"
#include "serve/api/request_reader.h"
#include "serve/http/exchange.h"

#include <functional>
#include <optional>

namespace sinter::serve {

using ErrorResponse = HttpResponse (*)(const ApiError &);

// What a route does with its body as JSON; an error answers the request. It answers itself
// otherwise, at once or later.
using BodyHandler = std::function<ApiResult<void>(
    const HttpRequest &request, const RequestReader &body, std::shared_ptr<Responder> responder)>;

// A handler that reads the body as a JSON object on a task's thread. Where a problem was noted it
// is the answer, and `then` must not have answered.
HttpHandler withBody(ApiContext &context, ErrorResponse error, BodyHandler then);

// The first problem, as a result.
ApiResult<void> check(const RequestProblem &problem);

// The name that `name` means: itself, or with or without ":latest"; nothing where there is no such
// model.
std::optional<std::string> knownName(const ApiContext &context, const std::string &name);

// The name in "model", else the context's default or the only model that there is. Notes a problem
// where there is no model of that name.
std::string modelOf(const ApiContext &context, const RequestReader &body);

} // namespace sinter::serve
