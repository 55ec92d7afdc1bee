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

std::optional<std::string> knownName(const ApiContext &context, const std::string &name) {
  constexpr std::string_view kTag = ":latest"; // that Ollama's clients may add or leave out
  const std::vector<std::string> names = context.models.names();
  const std::string bare =
      name.ends_with(kTag) ? name.substr(0, name.size() - kTag.size()) : name + std::string(kTag);
  for (const std::string &spelling : {name, bare})
    if (std::ranges::find(names, spelling) != names.end())
      return spelling;
  return std::nullopt;
}

std::string modelOf(const ApiContext &context, const RequestReader &body) {
  const std::vector<std::string> names = context.models.names();
  if (!body.find("model") && !context.defaultModel.empty())
    return context.defaultModel;
  if (!body.find("model") && names.size() == 1)
    return names.front();
  constexpr size_t kMostShownBytes = 200; // of a name that a stranger chose
  std::string name = body.requiredText("model");
  // Never a path of the host.
  if (const auto known = knownName(context, name))
    name = *known;
  else
    body.problem().note(Code::NotFound,
                        "there is no model '" + name.substr(0, kMostShownBytes) + "'" +
                            nearestHint(name, names),
                        body.pathOf("model"));
  return name;
}

} // namespace sinter::serve
