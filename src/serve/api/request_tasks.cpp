// From an HTTP request to the fields of its JSON.
#include "serve/api/request_tasks.h"

#include "serve/api/request_json.h"

namespace sinter::serve {
namespace {

void readBody(const HttpRequest &request, ErrorResponse error, const BodyHandler &then,
              const std::shared_ptr<Responder> &responder) {
  const auto json = readRequestJson(request.body);
  if (!json)
    return responder->respond(error(json.error()));
  RequestProblem problem;
  const RequestReader body(*json, "", problem);
  auto done = check(problem);
  if (done)
    done = then(request, body, responder);
  if (!done)
    responder->respond(error(done.error()));
}

} // namespace

HttpHandler withBody(ApiContext &context, ErrorResponse error, BodyHandler then) {
  return [&context, error, then = std::move(then)](HttpRequest request,
                                                   std::shared_ptr<Responder> responder) {
    auto shared = std::make_shared<HttpRequest>(std::move(request));
    const bool isTaken = context.tasks.post(
        [shared, error, then, responder] { readBody(*shared, error, then, responder); });
    if (!isTaken)
      responder->respond(error({Code::Exhausted, "too many requests wait to be read, try again"}));
  };
}

ApiResult<void> check(const RequestProblem &problem) {
  if (problem.first)
    return tl::unexpected(*problem.first);
  return {};
}

std::string modelOf(const ApiContext &context, const RequestReader &body) {
  if (!body.find("model") && !context.defaultModel.empty())
    return context.defaultModel;
  return body.requiredText("model");
}

} // namespace sinter::serve
