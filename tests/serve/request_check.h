// What must hold of whatever body comes to a route; shared by the fuzzer and the test that replays
// its corpus.
#pragma once

#include "host/model_store.h"
#include "serve/api/api_routes.h"
#include "serve/api/native/text_routes.h"
#include "serve/fake_server.h"
#include "serve/worker/pulls.h"

#include <array>
#include <string_view>

namespace sinter::serve {

struct BodyRoute {
  const char *method, *path;
};

// The routes that read bodies.
inline constexpr std::array kBodyRoutes = {
    BodyRoute{"POST", "/v1/chat/completions"},
    BodyRoute{"POST", "/v1/completions"},
    BodyRoute{"POST", "/v1/embeddings"},
    BodyRoute{"POST", "/v1/responses"},
    BodyRoute{"POST", "/api/chat"},
    BodyRoute{"POST", "/api/generate"},
    BodyRoute{"POST", "/api/embed"},
    BodyRoute{"POST", "/api/embeddings"},
    BodyRoute{"POST", "/api/show"},
    BodyRoute{"POST", "/completion"},
    BodyRoute{"POST", "/v1/rerank"},
    BodyRoute{"POST", "/tokenize"},
    BodyRoute{"POST", "/detokenize"},
    BodyRoute{"POST", "/apply-template"},
    BodyRoute{"POST", "/api/pull"},
    BodyRoute{"POST", "/api/create"},
    BodyRoute{"POST", "/api/copy"},
    BodyRoute{"DELETE", "/api/delete"},
    BodyRoute{"POST", "/v1/messages"},
    BodyRoute{"POST", "/infill"},
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

// All routes over a fake model and a store in a folder of its own, which the environment names
// while this lives. Pulls end at once.
class RequestCheck {
public:
  RequestCheck() {
    std::string name = (std::filesystem::temp_directory_path() / "sinter-requests-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const char *former = std::getenv("XDG_CACHE_HOME");
    former_ = former ? std::optional<std::string>(former) : std::nullopt;
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    server_.worker().answers({"<think>a</think>", "b<tool_call>{\"name\":\"f\"}</tool_call>"});
    server_.context.pulls = &pulls_;
    fillStore();
  }
  ~RequestCheck() {
    server_.tasks.drain();
    former_ ? setenv("XDG_CACHE_HOME", former_->c_str(), 1) : unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  RequestCheck(const RequestCheck &) = delete;
  RequestCheck &operator=(const RequestCheck &) = delete;

  // The first byte chooses the route, the rest is the body. Empty: it was answered once, in JSON,
  // with a status that a body may be to blame for.
  std::string inconsistencyOf(std::string_view bytes) {
    if (++requests_ % kRequestsOfAStore == 0)
      fillStore();
    const size_t number = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
    const BodyRoute &route = kBodyRoutes[number % kBodyRoutes.size()];
    const auto client =
        server_.send(route.method, route.path, std::string(bytes.substr(bytes.empty() ? 0 : 1)));
    client->waitForEnd();
    const uint16_t status = client->status();
    if (status != 200 && status != 400 && status != 404 && status != 503)
      return "the status is " + std::to_string(status) + ": " + client->body();
    if (client->body().empty()) // of a model that was copied or deleted
      return route.path == std::string_view("/api/copy") || *route.method == 'D'
                 ? ""
                 : "the answer is empty";
    const bool isWhole = client->head().contentType == "application/json";
    return isWhole ? wholeJsonInconsistency(client->body()) : streamInconsistency(*client);
  }

private:
  static constexpr size_t kRequestsOfAStore = 500; // many models would make it slow

  // One model, "stored".
  void fillStore() {
    std::filesystem::remove_all(folder_ + "/sinter");
    const auto models = host::modelStore();
    ASSERT_TRUE(models && models->prepare());
    const std::vector<uint8_t> bytes = fakeModel(kChatTemplate);
    const auto layer = models->addBytes(
        store::Role::Model, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    ASSERT_TRUE(layer);
    ASSERT_TRUE(models->put({*store::ModelName::parse("stored"), "made here", {*layer}}));
  }
  static Result<void> fetch(const std::string &name, store::PullObserver &observer,
                            const std::atomic<bool> &) {
    observer.onStep("pulling manifest");
    return fail(Code::NotFound, "the registry has no model '" + name + "'");
  }

  std::string folder_;
  std::optional<std::string> former_;
  size_t requests_ = 0;
  FakeServer server_{[](Routes &routes, ApiContext &context) {
                       addTextRoutes(routes, context);
                       addApiRoutes(routes, context);
                     },
                     std::string(kChatTemplate) + "{# </think><tool_call> #}"};
  Pulls pulls_{fetch}; // ends before the server, whose context it uses
};

} // namespace sinter::serve
