// Who is let in: host, origin, route, key, rate and size, in this order, before the body is read.
#include "serve/http/connection_adapter.h"

namespace sinter::serve {

HttpResponse Connection::faultResponse(std::string_view path, const HttpFault &fault) const {
  HttpResponse response = core_->routes.error(path, fault.status, fault.message);
  response.headers = fault.headers;
  return response;
}

HttpResponse Connection::routeError(const Route &route, const HttpFault &fault) {
  return {fault.status, "application/json", route.errorBody(fault.status, fault.message),
          fault.headers};
}

// What a page, or a person, asks before the request itself. No key comes with it.
HttpResponse Connection::preflight(const HttpRequest &request) const {
  const bool isAll = request.path == "*";
  const std::string allowed =
      isAll ? "GET, HEAD, POST, PUT, DELETE, OPTIONS" : core_->routes.allowed(request.path);
  if (allowed.empty())
    return faultResponse(request.path, {404, "no route has the path '" + request.path + "'"});
  HttpResponse response{204, "", "", {{"Allow", allowed}}};
  if (!request.header("origin").empty() && !request.header("access-control-request-method").empty())
    for (auto &header : preflightHeaders(allowed, request.header("access-control-request-headers")))
      response.headers.push_back(std::move(header));
  return response;
}

Connection::Verdict Connection::judge(RequestParser &parser, ResponseStyle &style) {
  HttpRequest &request = parser.request();
  const AccessRules &rules = core_->rules;
  // HTTP/1.0 knows no Host, and no page sends it.
  if (!isUnix_ && !(parser.isHttp10() && parser.authority().empty()))
    if (const auto fault = checkHost(parser.authority(), rules))
      return faultResponse(request.path, *fault);
  OriginAnswer origin = checkOrigin(request.header("origin"), parser.authority(), rules);
  if (origin.fault)
    return faultResponse(request.path, *origin.fault);
  style.headers = std::move(origin.headers);
  if (request.method == "OPTIONS")
    return preflight(request);
  Routes::Lookup lookup = core_->routes.find(request.method, request.path);
  if (auto *found = std::get_if<Routes::Found>(&lookup))
    return admit(parser, std::move(*found));
  if (const auto *others = std::get_if<std::string>(&lookup))
    return faultResponse(
        request.path,
        {405, "method '" + request.method + "' is not one of " + *others, {{"Allow", *others}}});
  return faultResponse(request.path, {404, "no route has the path '" + request.path + "'"});
}

Connection::Verdict Connection::admit(RequestParser &parser, Routes::Found found) {
  HttpRequest &request = parser.request();
  const Route &route = *found.route;
  const ServerOptions &options = core_->options;
  request.route = route.pattern;
  if (core_->rules.hasKeys) {
    const auto name = options.keys->nameFor(request);
    if (!name && !route.isOpen)
      return routeError(route, {401,
                                "the request has no API key that is known here, expected "
                                "'Authorization: Bearer KEY'",
                                {{"WWW-Authenticate", "Bearer"}}});
    request.keyName = name.value_or("");
  }
  request.account = request.keyName.empty() ? request.client : request.keyName;
  if (options.quotas && !route.isOpen)
    if (const auto seconds = options.quotas->takeRequest(request.account))
      return routeError(route, {429,
                                "the limit of requests or tokens per minute is reached; try again "
                                "in " +
                                    std::to_string(*seconds) + " seconds",
                                {{"Retry-After", std::to_string(*seconds)}}});
  if (const auto fault = parser.limitBody(route.mostBodyBytes.value_or(options.limits.bodyBytes)))
    return routeError(route, *fault);
  return found;
}

} // namespace sinter::serve
