// Whose turn it is: queues, priorities and deadlines of waiting requests.
#include "llm/fair_shares.h"
#include "llm/scheduler_check.h"

namespace sinter {
namespace {

using testing::HasSubstr;

// One request runs at a time, so that the order in which requests end is that of their turns.
const RunnerLimits kLimits{61, 64, 8, 4, 4, 4, {{16}}};
constexpr SchedulerOptions kOneAtATime{.sequences = 1};

Order orderOf(const std::string &queue, size_t promptLength, uint64_t tokens) {
  Order order{.prompt = std::vector<TokenId>(promptLength, 3),
              .maxTokens = tokens,
              .ignoreEndTokens = true};
  order.queue = queue;
  return order;
}

// Queues in the order in which their requests, one at a time, had their first tokens.
std::string turnsOf(Desk &desk) {
  std::vector<const Client *> clients;
  for (const Client &client : desk.clients)
    clients.push_back(&client);
  std::ranges::sort(clients, {}, [](const Client *client) { return client->shownAt.at(0); });
  std::string turns;
  for (const Client *client : clients)
    turns += client->order.queue;
  return turns;
}

TEST(SchedulerQueues, QueuesThatAskForTheSameTakeTurnsHoweverManyWaitInOne) {
  Desk desk(kLimits, kOneAtATime);
  for (int i = 0; i < 6; ++i)
    desk.submit(orderOf("a", 4, 4));
  for (int i = 0; i < 3; ++i)
    desk.submit(orderOf("b", 4, 4));
  desk.run();
  EXPECT_EQ(turnsOf(desk), "abababaaa");
}

TEST(SchedulerQueues, FreePlacesThatOpenAtOnceAreShared) {
  Desk desk(kLimits, {.sequences = 4});
  for (int i = 0; i < 8; ++i)
    desk.submit(orderOf("a", 2, 2));
  const Client &b = desk.submit(orderOf("b", 2, 2)), &c = desk.submit(orderOf("c", 2, 2));
  desk.scheduler.step();
  EXPECT_EQ(b.shown.size(), 1u);
  EXPECT_EQ(c.shown.size(), 1u);
  desk.run();
}

TEST(SchedulerQueues, AQueueOfLongAnswersHasFewerTurns) {
  Desk desk(kLimits, kOneAtATime);
  for (int i = 0; i < 3; ++i)
    desk.submit(orderOf("a", 4, 30));
  for (int i = 0; i < 12; ++i)
    desk.submit(orderOf("b", 4, 2));
  desk.run();
  EXPECT_THAT(turnsOf(desk), testing::StartsWith("abbbbb"));
}

TEST(SchedulerQueues, AQueueThatWasIdleSavesUpNoTurns) {
  Desk desk(kLimits, kOneAtATime);
  for (int i = 0; i < 8; ++i)
    desk.submit(orderOf("a", 4, 4));
  for (int i = 0; i < 20; ++i)
    desk.scheduler.step();
  const size_t before = desk.clients.size() - desk.scheduler.waitingCount();
  for (int i = 0; i < 8; ++i)
    desk.submit(orderOf("b", 4, 4));
  desk.run();
  EXPECT_THAT(turnsOf(desk).substr(before), testing::StartsWith("abab"));
}

TEST(SchedulerQueues, AHigherPriorityComesFirst) {
  Desk desk(kLimits, kOneAtATime);
  for (const auto &[queue, priority] : {std::pair("l", -5), {"m", 0}, {"h", 7}, {"h", 7}}) {
    Order order = orderOf(queue, 4, 4);
    order.priority = priority;
    desk.submit(std::move(order));
  }
  desk.run();
  EXPECT_EQ(turnsOf(desk), "hhml");
}

TEST(SchedulerQueues, PagesAreTakenFromTheLowestPriority) {
  RunnerLimits limits = kLimits;
  limits.kvGroups[0].pages = 8;
  Desk desk(limits);
  Order low = orderOf("l", 4, 26), high = orderOf("h", 4, 26);
  high.priority = 1;
  const Client &first = desk.submit(low);
  desk.scheduler.step();
  const Client &second = desk.submit(high);
  desk.run();
  desk.expectAllAsAlone();
  EXPECT_GT(desk.scheduler.counters().preemptions, 0u);
  EXPECT_LT(second.shownAt.back(), first.shownAt.back());
}

TEST(SchedulerQueues, ARequestWhoseTurnDoesNotComeBeforeItsDeadlineEndsAndSaysSo) {
  Desk desk(kLimits, kOneAtATime);
  const auto past = SchedulerClock::now();
  Order running = orderOf("a", 4, 8), late = orderOf("b", 4, 8), patient = orderOf("c", 4, 8);
  const Client &first = desk.submit(running);
  desk.scheduler.step();
  late.deadline = past;
  patient.deadline = past + std::chrono::hours(1);
  const Client &expired = desk.submit(late), &waiting = desk.submit(patient);
  desk.scheduler.step();
  ASSERT_TRUE(expired.end && !*expired.end);
  EXPECT_EQ(expired.end->error().code, Code::Timeout);
  EXPECT_THAT(expired.end->error().message, HasSubstr("1 requests run and 2 wait"));
  desk.run();
  desk.expectAsAlone(first);
  desk.expectAsAlone(waiting);
}

TEST(SchedulerQueues, ARequestThatRunsOutlivesItsDeadline) {
  Desk desk(kLimits, kOneAtATime);
  Order order = orderOf("a", 4, 8);
  order.deadline = SchedulerClock::now() + std::chrono::milliseconds(200);
  const Client &client = desk.submit(order);
  desk.scheduler.step();
  ASSERT_EQ(client.shown.size(), 1u) << "the machine was too busy for this test";
  while (SchedulerClock::now() < *order.deadline)
    ;
  desk.run();
  desk.expectAsAlone(client);
}

TEST(SchedulerQueues, AllEndWithTheErrorThatTheyAreEndedWith) {
  Desk desk(kLimits, kOneAtATime);
  for (int i = 0; i < 3; ++i)
    desk.submit(orderOf("a", 4, 8));
  desk.scheduler.step();
  desk.scheduler.endAll({Code::DeviceLost, "gone"});
  EXPECT_TRUE(desk.scheduler.idle());
  for (const Client &client : desk.clients) {
    ASSERT_TRUE(client.end && !*client.end);
    EXPECT_EQ(client.end->error().message, "gone");
  }
  EXPECT_EQ(desk.pool.freePages(), desk.pool.pageCount());
}

TEST(FairShares, IdleQueuesAreForgottenOnceOthersWereServedAsMuch) {
  FairShares shares;
  FairShare *busy = shares.join("busy");
  busy->served = 10;
  FairShare *greedy = shares.join("greedy");
  greedy->served = 15;
  shares.leave(greedy);
  EXPECT_EQ(shares.size(), 2u);
  greedy = shares.join("greedy");
  EXPECT_EQ(greedy->served, 15u);
  shares.leave(greedy);
  busy->served = 20;
  shares.leave(shares.join("greedy"));
  EXPECT_EQ(shares.size(), 1u);
  shares.leave(busy);
  EXPECT_EQ(shares.size(), 0u);
}

} // namespace
} // namespace sinter
