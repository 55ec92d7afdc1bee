// What must hold of whatever body comes to a route; shared by the fuzzer and the test that replays
// its corpus.
#pragma once

#include "serve/api/api_routes.h"
#include "serve/fake_server.h"

#include <array>
#include <string_view>

namespace sinter::serve {

// The routes that read bodies.
inline constexpr std::array kBodyRoutes = {
    "/v1/chat/completions", "/v1/completions", "/v1/embeddings",  "/v1/responses", "/api/chat",
    "/api/generate",        "/api/embed",      "/api/embeddings", "/api/show",     "/completion",
    "/v1/rerank",           "/v1/messages",    "/infill",
};

inline std::string wholeJsonInconsistency(const std::string &body) {
  return json::accept(body) ? "" : "the answer is no JSON: " + body;
}

inline std::string streamInconsistency(const FakeResponder &client) {
  const bool isEvents = client.head().contentType == "text/event-stream";
  std::istringstream in(client.body());
  for (std::string line; std::getline(in, line);) {
    if (isEvents && (line.empty() || line.starts_with("event: ") || line == "data: [DONE]"))
      continue;
    if (isEvents && !line.starts_with("data: "))
      return "an event is '" + line + "'";
    if (!json::accept(isEvents ? line.substr(6) : line))
      return "a piece of a stream is no JSON: " + line;
  }
  return "";
}

// The first byte chooses the route, the rest is the body. Empty: it was answered once, in JSON,
// with a status that a body may be to blame for.
inline std::string requestInconsistencyOf(std::string_view bytes) {
  static FakeServer *server = [] {
    auto *made =
        new FakeServer(addApiRoutes, std::string(kChatTemplate) + "{# </think><tool_call> #}");
    made->worker().answers({"<think>a</think>", "b<tool_call>{\"name\":\"f\"}</tool_call>"});
    return made;
  }();
  const size_t route = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  const auto client = server->send("POST", kBodyRoutes[route % kBodyRoutes.size()],
                                   std::string(bytes.substr(bytes.empty() ? 0 : 1)));
  client->waitForEnd();
  const uint16_t status = client->status();
  if (status != 200 && status != 400 && status != 404 && status != 503)
    return "the status is " + std::to_string(status) + ": " + client->body();
  const bool isWhole = client->head().contentType == "application/json";
  return isWhole ? wholeJsonInconsistency(client->body()) : streamInconsistency(*client);
}

} // namespace sinter::serve
