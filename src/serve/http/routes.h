// Routes as values: which handler answers a method and a path, and under what conditions.
#pragma once

#include "serve/http/exchange.h"

#include <optional>
#include <variant>

namespace sinter::serve {

// The body of an error in the shape that a route's clients read.
using ErrorBody = std::function<std::string(uint16_t status, std::string_view message)>;

// {"error":{"message":"...","type":"invalid_request_error","param":null,"code":null}}, as clients
// of OpenAI read it; type follows the status.
std::string openAiErrorBody(uint16_t status, std::string_view message);
// {"error":"..."}, as clients of Ollama read it.
std::string plainErrorBody(uint16_t status, std::string_view message);

struct Route {
  std::string method; // "GET", which answers HEAD too
  // "/v1/models/{model}": a name stands for one part of the path, with "..." behind it for the
  // rest:
  // "/api/blobs/{digest}", "/v1/models/{model...}". Neither stands for nothing.
  std::string pattern;
  HttpHandler handler;
  ErrorBody errorBody = openAiErrorBody;
  bool isOpen = false;                      // needs no API key, and no turn under a limit of rate
  std::optional<size_t> mostBodyBytes = {}; // none: the server's limit
};

class Routes {
public:
  // Of several that a path matches, the one that was added first counts.
  void add(Route route);
  // Errors of paths under `prefix` that no route has: the longest prefix counts.
  void setErrorBody(std::string prefix, ErrorBody body);

  struct Found {
    const Route *route;
    std::vector<std::pair<std::string, std::string>> parameters;
  };
  // Of a path that no route has: nothing. Of one that has routes for other methods alone: those,
  // "GET, HEAD, OPTIONS".
  using Lookup = std::variant<std::monostate, std::string, Found>;
  Lookup find(std::string_view method, std::string_view path) const;
  // "GET, HEAD, OPTIONS" of the path; empty where no route has it.
  std::string allowed(std::string_view path) const;

  HttpResponse error(std::string_view path, uint16_t status, std::string_view message) const;

  const std::vector<Route> &all() const { return routes_; }

private:
  std::vector<Route> routes_;
  std::vector<std::pair<std::string, ErrorBody>> errorBodies_;
};

} // namespace sinter::serve
