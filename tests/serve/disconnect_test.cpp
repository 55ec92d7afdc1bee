// Clients that go at any moment, from the socket to the scheduler: everything comes back, and other
// streams have the bytes that they have alone.
#include "serve/api/api_routes.h"
#include "serve/fake_server.h"
#include "serve/http_client.h"
#include "serve/status/status_routes.h"
#include "serve/worker_check.h"

#include <random>

namespace sinter::serve {
namespace {

constexpr int kThreads = 8, kLeaversOfEach = 25;

// Takes as long as a small model's step.
class SteadyRunner : public HashRunner {
public:
  using HashRunner::HashRunner;
  Result<std::span<const float>> step(const Batch &batch) override {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return HashRunner::step(batch);
  }
};

RunnerLimits limitsOf(const Tokenizer &tokenizer) {
  RunnerLimits limits;
  limits.vocabSize = static_cast<uint32_t>(tokenizer.size());
  limits.contextTokens = 256;
  limits.stepTokens = 32;
  limits.stepSequences = 4;
  limits.queryTile = limits.pageRows = 4;
  limits.kvGroups = {{80}}; // fewer than the sequences of a step may want
  limits.phasesAgree = true;
  return limits;
}

// A worker and a pool of one model, over a runner without a device.
class EnginePool : public FakePool {
public:
  EnginePool() : FakePool(kChatTemplate), served(std::make_shared<Served>()) {}

  void get(const std::string &, const LoadWishes &, OnModel then) override {
    then(std::shared_ptr<ModelWorker>(served));
  }

  struct Served : FakeWorker {
    Served() : FakeWorker(fakeModelFile()) {
      context = 256;
      engine = std::move(*GenerationEngine::start(runner, pages, file().tokenizer(), {}));
    }
    Result<JobId> submit(GenerationJob job) override { return engine->submit(std::move(job)); }
    void cancel(JobId id) override { engine->cancel(id); }
    WorkerState state() const override { return engine->state(); }

    SteadyRunner runner{limitsOf(file().tokenizer())};
    PagePool pages = *PagePool::create(runner.limits().kvGroups, runner.limits().pageRows);
    std::unique_ptr<GenerationEngine> engine;
  };
  const std::shared_ptr<Served> served;
};

class Disconnects : public testing::Test {
protected:
  Disconnects() {
    Routes routes;
    addApiRoutes(routes, context_);
    ServerOptions options;
    options.port = 0;
    auto server = Server::start(std::move(options), std::move(routes));
    EXPECT_TRUE(server.has_value());
    server_ = std::move(*server);
  }

  static std::string requestOf(const std::string &path, const json &body) {
    const std::string text = body.dump();
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
           "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  }
  // What a stream says, without the names and times that differ from answer to answer.
  std::string witness() const {
    Client client(server_->port());
    const Answer answer = client.ask(requestOf("/v1/completions", {{"model", "tiny"},
                                                                   {"prompt", "a witness"},
                                                                   {"max_tokens", 30},
                                                                   {"temperature", 1},
                                                                   {"seed", 3},
                                                                   {"stream", true},
                                                                   {"ignore_eos", true}}));
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.whole);
    std::string text;
    for (const json &event : eventsOf(answer.body))
      if (event.is_object() && !event["choices"].empty())
        text += event["choices"][0]["text"].get<std::string>();
    return text;
  }
  void leave(std::mt19937 &random) const {
    const auto upTo = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
    const char *const paths[] = {"/v1/completions", "/v1/chat/completions", "/api/generate"};
    const std::string path = paths[upTo(2)];
    json body = {{"model", "tiny"}, {"stream", upTo(3) > 0}, {"max_tokens", 1 + upTo(40)}};
    const std::string prompt(1 + upTo(upTo(2) ? 10 : 150), 'q');
    if (path == "/v1/chat/completions")
      body["messages"] = {{{"role", "user"}, {"content", prompt}}};
    else
      body["prompt"] = prompt;
    if (path != "/api/generate" && upTo(4) == 0)
      body["n"] = 2;
    const std::string request = requestOf(path, body);
    Client client(server_->port());
    const uint32_t state = upTo(5);
    client.send(
        request.substr(0, state == 0 ? upTo(static_cast<uint32_t>(request.size())) : request.npos));
    if (state == 2)
      std::this_thread::sleep_for(std::chrono::microseconds(upTo(3000)));
    for (uint32_t parts = state == 3 ? 1 + upTo(5) : 0; parts > 0 && client.more(); --parts)
      ;
    if (state == 4)
      client.sees("0\r\n");
    if (state == 5)
      client.endSending();
    if (upTo(1))
      client.reset();
  }

  EnginePool pool_;
  TaskPool tasks_{2, 1024};
  ApiContext context_{pool_, tasks_, "0.1.0"};
  std::unique_ptr<Server> server_;
};

TEST_F(Disconnects, GiveEverythingBackAndDisturbNoOne) {
  const std::string alone = witness();
  ASSERT_FALSE(alone.empty());
  const size_t descriptors = openDescriptors();
  std::atomic<int> leaving = kThreads;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<uint32_t>(i) + 1);
      for (int j = 0; j < kLeaversOfEach; ++j)
        leave(random);
      --leaving;
    });
  while (leaving > 0)
    EXPECT_EQ(witness(), alone);
  for (std::thread &thread : threads)
    thread.join();
  const auto state = [&] { return pool_.served->state(); };
  EXPECT_TRUE(comes([&] { return state().running + state().waiting == 0; }));
  EXPECT_TRUE(comes([&] { return server_->state().connections == 0; }));
  EXPECT_TRUE(comes([&] { return openDescriptors() <= descriptors; }));
  const WorkerState last = state();
  EXPECT_EQ(last.kvGroups[0].freePages, last.kvGroups[0].pages);
  EXPECT_EQ(last.accepted, last.finished + last.failed + last.cancelled);
  EXPECT_EQ(last.failed, 0u);
  EXPECT_GT(last.cancelled, 0u);
  EXPECT_EQ(witness(), alone);
}

} // namespace
} // namespace sinter::serve
