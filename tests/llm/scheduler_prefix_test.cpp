// The scheduler with a prefix cache: what is not computed again, who waits for whom, and what
// survives.
#include "llm/prefix_cache.h"
#include "llm/scheduler_check.h"

#include <numeric>

namespace sinter {
namespace {

RunnerLimits limitsOf(uint32_t pages = 64) {
  RunnerLimits limits{64, 64, 16, 8, 4, 4, {{pages}}};
  limits.phasesAgree = true;
  return limits;
}

constexpr SchedulerOptions kCaching{.promptTokens = 16, .prefixCache = true};

std::vector<TokenId> counted(TokenId first, size_t count) {
  std::vector<TokenId> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

Order orderOf(std::vector<TokenId> prompt, uint64_t maxTokens = 4) {
  return {.prompt = std::move(prompt), .maxTokens = maxTokens, .ignoreEndTokens = true};
}

uint64_t reusedBy(const Client &client) {
  return client.end && *client.end ? (*client.end)->reusedTokens : UINT64_MAX;
}

TEST(SchedulerPrefix, AnAnswerOfThePromptSoFarIsNotComputedAgain) {
  Desk desk(limitsOf(), kCaching);
  const Client &first = desk.submit(orderOf(counted(0, 20), 9));
  desk.run();
  std::vector<TokenId> turn = first.order.prompt;
  turn.insert(turn.end(), first.shown.begin(), first.shown.end());
  turn.push_back(1);
  const Client &second = desk.submit(orderOf(turn));
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_EQ(reusedBy(first), 0u);
  EXPECT_EQ(reusedBy(second), 28u) << "of 20 tokens and 9, the last of which has no row";
  EXPECT_EQ(desk.scheduler.counters().reusedTokens, 28u);
  EXPECT_EQ(desk.scheduler.counters().prefixHits, 1u);
}

TEST(SchedulerPrefix, RequestsThatComeTogetherComputeWhatTheyShareOnce) {
  Desk desk(limitsOf(), kCaching);
  for (TokenId i = 0; i < 6; ++i) {
    Order order = orderOf(counted(0, 33));
    order.prompt.back() = i;
    desk.submit(order);
  }
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_EQ(desk.scheduler.counters().reusedTokens, 5u * 32);
  EXPECT_EQ(desk.scheduler.counters().rows, 32u + 6 + 6 * 3);
}

TEST(SchedulerPrefix, TheOthersGoOnWhereTheOneTheyWaitForIsCancelled) {
  Desk desk(limitsOf(), kCaching);
  for (int i = 0; i < 3; ++i)
    desk.submit(orderOf(counted(0, 40)));
  desk.scheduler.step();
  EXPECT_TRUE(desk.scheduler.cancel(desk.clients.front().id));
  desk.run();
  desk.expectAsAlone(desk.clients[1]);
  desk.expectAsAlone(desk.clients[2]);
  EXPECT_GE(reusedBy(desk.clients[1]), 16u) << "what the cancelled one had computed";
}

TEST(SchedulerPrefix, ARequestThatDoesWithoutItIsComputedWholeAndLeavesNothing) {
  Desk desk(limitsOf(), kCaching);
  desk.submit(orderOf(counted(0, 20)));
  desk.run();
  const uint64_t before = desk.scheduler.counters().rows,
                 pages = desk.scheduler.prefixCache()->pages();
  Client &client = desk.clients.emplace_back();
  client.order = orderOf(counted(0, 30));
  Request request = desk.requestOf(client);
  request.usesPrefixCache = false;
  ASSERT_TRUE(desk.scheduler.submit(std::move(request)).has_value());
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_EQ(desk.scheduler.counters().rows - before, 33u);
  EXPECT_EQ(desk.scheduler.prefixCache()->pages(), pages);
}

TEST(SchedulerPrefix, ScopesShareNothing) {
  Desk desk(limitsOf(), kCaching);
  for (const char *scope : {"ana", "bob", "ana"}) {
    Client &client = desk.clients.emplace_back();
    client.order = orderOf(counted(0, 21));
    Request request = desk.requestOf(client);
    request.cacheScope = scope;
    ASSERT_TRUE(desk.scheduler.submit(std::move(request)).has_value());
    desk.run();
  }
  EXPECT_EQ(reusedBy(desk.clients[1]), 0u);
  EXPECT_EQ(reusedBy(desk.clients[2]), 20u);
}

TEST(SchedulerPrefix, WhatOnlyTheCacheHoldsGoesBeforeAnyoneIsPreempted) {
  Desk desk(limitsOf(16), kCaching); // one context
  for (TokenId i = 0; i < 5; ++i) {
    desk.submit(orderOf(std::vector<TokenId>(30, i), 20));
    desk.run();
  }
  desk.expectAllAsAlone();
  EXPECT_EQ(desk.scheduler.counters().preemptions, 0u);
  EXPECT_GT(desk.scheduler.prefixCache()->evicted(), 20u);
}

// Where phases differ, rows of answers come back only as decode computed them.
TEST(SchedulerPrefix, APreemptedSequenceTakesItsRowsUpAgain) {
  for (const bool phasesAgree : {true, false}) {
    RunnerLimits limits = limitsOf(20);
    limits.phasesAgree = phasesAgree;
    Desk with(limits, kCaching), without(limits, {.promptTokens = 16});
    for (Desk *desk : {&with, &without}) {
      for (TokenId i = 0; i < 3; ++i)
        desk->submit(orderOf(counted(i, 12), 24));
      desk->run();
      desk->expectAllAsAlone();
      EXPECT_GT(desk->scheduler.counters().preemptions, 0u);
    }
    EXPECT_LT(with.scheduler.counters().recomputedRows,
              without.scheduler.counters().recomputedRows);
    EXPECT_EQ(with.scheduler.counters().reusedTokens, 0u) << "its own rows are not another's";
  }
}

TEST(SchedulerPrefix, AThirdPromptGoesOnFromTheStateWhereTheSecondBranchedOff) {
  RunnerLimits limits = limitsOf();
  limits.phasesAgree = false;
  limits.stateSlots = 6;
  limits.chunkRows = 8;
  Desk desk(limits, kCaching);
  for (TokenId i = 0; i < 3; ++i) {
    std::vector<TokenId> prompt = counted(0, 26);
    prompt.resize(50, i);
    desk.submit(orderOf(prompt));
    desk.run();
  }
  desk.expectAllAsAlone();
  EXPECT_EQ(reusedBy(desk.clients[1]), 0u) << "no state was kept within the first prompt";
  EXPECT_EQ(reusedBy(desk.clients[2]), 24u);
}

TEST(SchedulerPrefix, ATurnGoesOnFromTheStateNearThePromptsEnd) {
  RunnerLimits limits = limitsOf();
  limits.phasesAgree = false;
  limits.stateSlots = 3;
  Desk desk(limits, kCaching);
  desk.submit(orderOf(counted(0, 30)));
  desk.run();
  desk.submit(orderOf(counted(0, 35)));
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_EQ(reusedBy(desk.clients[1]), 12u);
}

TEST(SchedulerPrefix, AStepThatFailsLeavesNothingOfItBehind) {
  Desk desk(limitsOf(), kCaching);
  desk.runner.failAt = {1};
  desk.runner.failure = Code::Internal;
  desk.submit(orderOf(counted(0, 30)));
  desk.run();
  EXPECT_FALSE(desk.clients[0].end->has_value());
  desk.submit(orderOf(counted(0, 30)));
  desk.run();
  desk.expectAsAlone(desk.clients[1]);
}

TEST(SchedulerPrefix, ReusedTokensCostAQueueNothing) {
  Desk desk(limitsOf(), {.sequences = 1, .promptTokens = 16, .prefixCache = true});
  const auto submit = [&](const char *queue, std::vector<TokenId> prompt) -> Client & {
    Order order = orderOf(std::move(prompt), 1);
    order.queue = queue;
    return desk.submit(order);
  };
  submit("a", counted(0, 33));
  desk.run();
  // Each request of "a" computes one row, one of "b" 13.
  for (int i = 0; i < 2; ++i) {
    submit("b", std::vector<TokenId>(13, i));
    submit("a", counted(0, 33));
    submit("a", counted(0, 33));
  }
  desk.run();
  std::vector<int64_t> ofA, ofB;
  for (const Client &client : desk.clients)
    (client.order.queue == "a" ? ofA : ofB).push_back(client.shownAt.front());
  EXPECT_LT(ofA.back(), ofB.back()) << "four requests of \"a\" cost less than one of \"b\"";
}

} // namespace
} // namespace sinter
