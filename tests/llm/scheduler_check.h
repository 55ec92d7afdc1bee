// What the tests of the scheduler share: clients that note what a request gave, and what the same
// request gives to a session of its own.
#pragma once

#include "llm/hash_runner.h"
#include "llm/scheduler.h"
#include "llm/session.h"
#include "llm/token_test_data.h"

#include <gmock/gmock.h>

namespace sinter {

// A request without its callbacks.
struct Order {
  std::vector<TokenId> prompt;
  uint64_t maxTokens = UINT64_MAX;
  SamplerSettings settings = {};
  bool ignoreEndTokens = false;
  std::string queue = {};
  int32_t priority = 0;
  std::optional<SchedulerClock::time_point> deadline = {};
};

// Outlives the request; stays where it is.
struct Client {
  Order order;
  RequestId id;
  std::vector<TokenId> shown;
  std::vector<int64_t> shownAt; // steps before each token
  std::optional<Result<Generation>> end;
  std::atomic<bool> cancel = false;

  bool endedWith(StopReason reason) const { return end && *end && (*end)->reason == reason; }
};

inline Sampler samplerOf(const Order &order, uint32_t vocabulary, const Tokenizer &tokenizer) {
  auto sampler = Sampler::create(order.settings, vocabulary, &tokenizer);
  EXPECT_TRUE(sampler.has_value()) << sampler.error().toString();
  return sampler ? *sampler : *Sampler::create({}, vocabulary, &tokenizer);
}

// The answer where nothing else runs.
inline Generation aloneOn(StepRunner &runner, const Tokenizer &tokenizer, const Order &order) {
  const RunnerLimits &limits = runner.limits();
  // With all pages of the sequence in each group.
  const std::vector<KvGroupPages> groups(limits.kvGroups.size(),
                                         {limits.batchShape().pagesPerSequence});
  PagePool pool = *PagePool::create(groups, limits.pageRows, limits.stateSlots);
  Session session(runner, pool, tokenizer);
  Sampler sampler = samplerOf(order, limits.vocabSize, tokenizer);
  auto result = session.generate(
      order.prompt,
      {.maxTokens = order.maxTokens, .sampler = &sampler, .ignoreEndTokens = order.ignoreEndTokens},
      [](TokenId) -> Result<void> { return {}; });
  EXPECT_TRUE(result.has_value()) << result.error().toString();
  return result ? *result : Generation();
}

// A scheduler over a HashRunner.
class Desk {
public:
  explicit Desk(const RunnerLimits &limits, const SchedulerOptions &options = {})
      : runner(limits),
        pool(*PagePool::create(limits.kvGroups, limits.pageRows, limits.stateSlots)),
        scheduler(runner, pool, tokenizer, options) {}

  Client &submit(Order order) {
    auto client = trySubmit(std::move(order));
    EXPECT_TRUE(client.has_value()) << client.error().toString();
    return client ? **client : clients.emplace_back();
  }
  Result<Client *> trySubmit(Order order) {
    Client &client = clients.emplace_back();
    client.order = std::move(order);
    SINTER_ASSIGN(client.id, scheduler.submit(requestOf(client)));
    return &client;
  }
  Request requestOf(Client &client) {
    return {.prompt = client.order.prompt,
            .maxTokens = client.order.maxTokens,
            .sampler = samplerOf(client.order, runner.limits().vocabSize, tokenizer),
            .cancel = &client.cancel,
            .ignoreEndTokens = client.order.ignoreEndTokens,
            .queue = client.order.queue,
            .priority = client.order.priority,
            .deadline = client.order.deadline,
            .onToken = [this, &client](TokenId token) -> Result<void> {
              client.shown.push_back(token);
              client.shownAt.push_back(std::ssize(runner.steps) - 1);
              return {};
            },
            .onEnd =
                [&client](Result<Generation> result) {
                  EXPECT_FALSE(client.end.has_value()) << "ended twice";
                  client.end = std::move(result);
                }};
  }
  // To the end of all requests.
  void run(int mostSteps = 5000) {
    while (scheduler.step())
      if (--mostSteps == 0) {
        ADD_FAILURE() << "requests are left after all steps";
        return;
      }
    expectAllPagesFree();
  }
  // But for those that the prefix cache keeps.
  void expectAllPagesFree() const {
    for (size_t group = 0; group < pool.groupCount(); ++group)
      EXPECT_EQ(pool.availablePages(group), pool.pageCount(group)) << group;
    EXPECT_EQ(pool.availableStates(), pool.stateSlots());
  }
  Generation alone(const Order &order) const {
    HashRunner own(runner.limits());
    return aloneOn(own, tokenizer, order);
  }
  void expectAsAlone(const Client &client) const {
    const Generation expected = alone(client.order);
    ASSERT_TRUE(client.end.has_value()) << "the request has not ended";
    ASSERT_TRUE(client.end->has_value()) << client.end->error().toString();
    EXPECT_EQ(client.shown, expected.tokens);
    EXPECT_EQ((*client.end)->tokens, expected.tokens);
    EXPECT_EQ((*client.end)->reason, expected.reason);
    EXPECT_EQ((*client.end)->decodeSteps, expected.decodeSteps);
  }
  void expectAllAsAlone() const {
    for (const Client &client : clients)
      expectAsAlone(client);
  }

  Tokenizer tokenizer = *Tokenizer::create(smallVocabulary()); // token 6 ends an answer
  HashRunner runner;
  PagePool pool;
  Scheduler scheduler;
  std::deque<Client> clients;
};

} // namespace sinter
