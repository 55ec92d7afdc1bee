// Matching of paths.
#include "serve/http/routes.h"

#include "base/check.h"

#include <nlohmann/json.hpp>

namespace sinter::serve {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// The part up to the next slash, which it takes away from `text` too.
std::string_view nextPart(std::string_view &text) {
  const std::string_view part = text.substr(0, text.find('/'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

bool isParameter(std::string_view part) {
  return part.size() > 2 && part.front() == '{' && part.back() == '}';
}

std::optional<Parameters> match(std::string_view pattern, std::string_view path) {
  constexpr std::string_view kRest = "...";
  // nextPart() cannot tell "/a" from "/a/".
  if (!path.starts_with('/') || path.ends_with('/') != pattern.ends_with('/'))
    return pattern == path ? std::optional(Parameters{}) : std::nullopt;
  Parameters parameters;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view whole = path;
    const std::string_view wanted = nextPart(pattern);
    const std::string_view part = nextPart(path);
    if (!isParameter(wanted)) {
      if (wanted != part)
        return std::nullopt;
      continue;
    }
    std::string_view name = wanted.substr(1, wanted.size() - 2);
    const bool isRest = name.ends_with(kRest);
    if (part.empty())
      return std::nullopt;
    if (isRest)
      name.remove_suffix(kRest.size());
    parameters.emplace_back(name, isRest ? whole : part);
    if (isRest)
      return parameters;
  }
  return pattern.empty() && path.empty() ? std::optional(std::move(parameters)) : std::nullopt;
}

std::string dumped(const nlohmann::ordered_json &json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const char *openAiType(uint16_t status) {
  switch (status) {
  case 401:
    return "authentication_error";
  case 403:
    return "permission_error";
  case 404:
    return "not_found_error";
  case 429:
    return "rate_limit_error";
  case 501:
    return "not_supported_error";
  case 503:
    return "unavailable_error";
  default:
    return status < 500 ? "invalid_request_error" : "server_error";
  }
}

} // namespace

std::string openAiErrorBody(uint16_t status, std::string_view message) {
  return dumped({{"error",
                  {{"message", message},
                   {"type", openAiType(status)},
                   {"param", nullptr},
                   {"code", nullptr}}}});
}

std::string plainErrorBody(uint16_t, std::string_view message) {
  return dumped({{"error", message}});
}

void Routes::add(Route route) {
  SINTER_CHECK(route.pattern.starts_with('/') && route.handler && route.errorBody);
  for (const Route &other : routes_)
    SINTER_CHECK(other.method != route.method || other.pattern != route.pattern);
  routes_.push_back(std::move(route));
}

void Routes::setErrorBody(std::string prefix, ErrorBody body) {
  errorBodies_.emplace_back(std::move(prefix), std::move(body));
}

Routes::Lookup Routes::find(std::string_view method, std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route &route : routes_)
    if (route.method == wanted)
      if (auto parameters = match(route.pattern, path))
        return Found{&route, std::move(*parameters)};
  std::string others = allowed(path);
  if (others.empty())
    return std::monostate{};
  return others;
}

std::string Routes::allowed(std::string_view path) const {
  std::string methods;
  for (const Route &route : routes_)
    if (match(route.pattern, path))
      methods += route.method + (route.method == "GET" ? ", HEAD, " : ", ");
  return methods.empty() ? methods : methods + "OPTIONS";
}

HttpResponse Routes::error(std::string_view path, uint16_t status, std::string_view message) const {
  const ErrorBody *body = nullptr;
  size_t length = 0;
  for (const auto &[prefix, each] : errorBodies_)
    if (path.starts_with(prefix) && (!body || prefix.size() > length)) {
      body = &each;
      length = prefix.size();
    }
  HttpResponse response;
  response.status = status;
  response.body = body ? (*body)(status, message) : openAiErrorBody(status, message);
  return response;
}

} // namespace sinter::serve
