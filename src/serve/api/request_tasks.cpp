// From an HTTP request to the fields of its JSON.
#include "serve/api/request_tasks.h"

#include "base/nearest.h"
#include "serve/api/request_json.h"

#include <algorithm>

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
  constexpr std::string_view kTag = ":latest"; // that Ollama's clients may add
  const std::vector<std::string> names = context.models.names();
  const auto isKnown = [&](const std::string &name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (!body.find("model") && !context.defaultModel.empty())
    return context.defaultModel;
  if (!body.find("model") && names.size() == 1)
    return names.front();
  std::string name = body.requiredText("model");
  if (name.ends_with(kTag) && !isKnown(name))
    name.resize(name.size() - kTag.size());
  // Never a path of the host.
  if (!isKnown(name))
    body.problem().note(Code::NotFound,
                        "there is no model '" + name + "'" + nearestHint(name, names),
                        body.pathOf("model"));
  return name;
}

} // namespace sinter::serve
